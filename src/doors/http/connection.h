// One connection of the server, over TCP or TLS.
//
// Threads: everything happens on the connection's loop; Exchange's functions post to it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "doors/http/loops.h"
#include "doors/http/server.h"

namespace cloche::http {

// What connections have in common, and the server knows of them.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  // After the answer to the request in progress, or now where there is none.
  virtual void end_soon() = 0;
  virtual void end_now() = 0;
};

// The server, as a connection sees it.
class Host {
 public:
  virtual ~Host() = default;
  virtual const ServerOptions& options() const = 0;
  virtual Application& application() = 0;
  virtual bool draining() const = 0;
  virtual void ended(Connection* connection) = 0;
};

// `host` outlives them; `loop` is the socket's.
std::shared_ptr<Connection> make_plain_connection(Host& host, Loop& loop,
                                                  boost::asio::ip::tcp::socket socket);
std::shared_ptr<Connection> make_tls_connection(Host& host, Loop& loop,
                                                boost::asio::ip::tcp::socket socket,
                                                boost::asio::ssl::context& context);

}  // namespace cloche::http

// SPDX-License-Identifier: Apache-2.0
// One connection of the server, over TCP or TLS.
//
// Threads: everything happens on the connection's loop; Exchange's functions post to it.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "doors/http/loops.h"
#include "doors/http/server.h"

namespace cloche {
class ShareLimit;
}

namespace cloche::http {

// How a connection stands: who waits for what, and since when.
struct Standing {
  enum class Stage : std::uint8_t {
    silent,     // no whole head of a request yet
    idle,       // between two requests
    receiving,  // a request that has begun
    answering,
  };
  static constexpr std::size_t stages = 4;
  Stage stage = Stage::silent;
  std::int64_t since_ns =
      0;  // of std::chrono::steady_clock; or since when its client has read nothing
};

// Who keeps an answer in memory until its client has read it: a connection, or a stream of one.
class AnswerKeeper {
 public:
  AnswerKeeper() = default;
  virtual ~AnswerKeeper() = default;
  AnswerKeeper(const AnswerKeeper&) = delete;
  AnswerKeeper& operator=(const AnswerKeeper&) = delete;

  // On any thread, also while it ends.
  Standing standing() const noexcept { return {stage_, since_ns_}; }
  virtual void end_now() = 0;

  // For itself, and its parts.
  void stand(Standing::Stage stage) noexcept {
    since_ns_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                    std::memory_order_relaxed);
    stage_.store(stage, std::memory_order_relaxed);
  }

 private:
  std::atomic<Standing::Stage> stage_ = Standing::Stage::silent;
  std::atomic<std::int64_t> since_ns_ = std::chrono::steady_clock::now().time_since_epoch().count();
};

// What connections have in common, and the server knows of them.
class Connection : public AnswerKeeper {
 public:
  // `peer_name` is the client's address, without the port; of IPv6 the network.
  explicit Connection(std::string peer_name) : peer_name_(std::move(peer_name)) {}

  // On any thread, also while it ends.
  const std::string& peer_name() const noexcept { return peer_name_; }

  virtual void start() = 0;
  // After the answer to the request in progress; now where there is none, but a client that has
  // just connected may still send its first.
  virtual void end_soon() = 0;

 private:
  const std::string peer_name_;
};

class ReceivedBytes;
class OwnerLimit;

// The server, as a connection sees it.
class Host {
 public:
  virtual ~Host() = default;
  virtual const ServerOptions& options() const = 0;
  virtual Application& application() = 0;
  virtual bool draining() const = 0;              // no request any more
  virtual bool closes_after_answers() const = 0;  // one request a connection
  // What an answer keeps in memory for that owner while its client does not read it; until it has
  // been sent.
  virtual void keep_unsent(const std::shared_ptr<AnswerKeeper>& keeper, const std::string& owner,
                           std::uint64_t bytes) = 0;
  virtual void sent(AnswerKeeper* keeper) = 0;
  virtual const std::shared_ptr<ReceivedBytes>& received() const = 0;
  virtual void ended(Connection* connection) = 0;
  virtual ShareLimit& stream_limit() = 0;  // of HTTP/2
  virtual OwnerLimit& owner_limit() = 0;
};

// `host` outlives them; `loop` is the socket's.
std::shared_ptr<Connection> make_plain_connection(Host& host, Loop& loop,
                                                  boost::asio::ip::tcp::socket socket);
std::shared_ptr<Connection> make_tls_connection(Host& host, Loop& loop,
                                                boost::asio::ip::tcp::socket socket,
                                                boost::asio::ssl::context& context);

}  // namespace cloche::http

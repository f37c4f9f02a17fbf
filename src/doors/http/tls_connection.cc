#include <boost/beast/ssl.hpp>

#include "doors/http/connection_of.h"

namespace cloche::http {

std::shared_ptr<Connection> make_tls_connection(Host& host, boost::asio::ip::tcp::socket socket,
                                                boost::asio::ssl::context& context) {
  using Stream = beast::ssl_stream<beast::tcp_stream>;
  return std::make_shared<ConnectionOf<Stream>>(host, Stream(std::move(socket), context));
}

}  // namespace cloche::http

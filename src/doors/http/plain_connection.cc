#include "doors/http/connection_of.h"

namespace cloche::http {

std::shared_ptr<Connection> make_plain_connection(Host& host, boost::asio::ip::tcp::socket socket) {
  return std::make_shared<ConnectionOf<beast::tcp_stream>>(host,
                                                           beast::tcp_stream(std::move(socket)));
}

}  // namespace cloche::http

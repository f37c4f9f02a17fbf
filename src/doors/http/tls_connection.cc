// SPDX-License-Identifier: Apache-2.0
#include "doors/http/connection_of.h"

namespace cloche::http {

std::shared_ptr<Connection> make_tls_connection(Host& host, Loop& loop,
                                                boost::asio::ip::tcp::socket socket,
                                                boost::asio::ssl::context& context) {
  return std::make_shared<ConnectionOf<TlsStream>>(host, loop,
                                                   TlsStream(std::move(socket), context));
}

}  // namespace cloche::http

// SPDX-License-Identifier: Apache-2.0
#include "doors/http/connection_of.h"

namespace cloche::http {

std::shared_ptr<Connection> make_plain_connection(Host& host, Loop& loop,
                                                  boost::asio::ip::tcp::socket socket) {
  return std::make_shared<ConnectionOf<PlainStream>>(host, loop, std::move(socket));
}

}  // namespace cloche::http

// SPDX-License-Identifier: Apache-2.0
#include "doors/http/answering.h"

#include <exception>
#include <utility>

#include "doors/http/server.h"

namespace cloche::http {

std::function<void()> answering(std::shared_ptr<Exchange> exchange, std::function<Response()> work,
                                Response (*failed)(const char* why)) {
  return [exchange = std::move(exchange), work = std::move(work), failed]() mutable {
    Response response;
    try {
      response = work();
    } catch (const std::exception& why) {
      response = failed(why.what());
    }
    work = nullptr;
    exchange->send(std::move(response));
  };
}

}  // namespace cloche::http

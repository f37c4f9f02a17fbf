// SPDX-License-Identifier: Apache-2.0
// UnexpectedExchange: a test's Exchange, of which only what the test overrides may be called.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "doors/http/server.h"

namespace cloche::http {

class UnexpectedExchange : public Exchange {
 public:
  void send(Response response) override { ADD_FAILURE() << response.status; }
  void send_blanks_until_answer(std::chrono::milliseconds) override { ADD_FAILURE(); }
  void open_tunnel(Fields, std::function<void(int fd)>) override { ADD_FAILURE(); }
  void hand_over(std::function<void(int fd)>) override { ADD_FAILURE(); }
  std::shared_ptr<AnswerStream> begin(Response, StreamOptions) override {
    ADD_FAILURE();
    return nullptr;
  }
  void open_web_socket(Request, std::string, std::shared_ptr<WebSocketUser>) override {
    ADD_FAILURE();
  }
  void relay_to(UniqueFd) override { ADD_FAILURE(); }
};

}  // namespace cloche::http

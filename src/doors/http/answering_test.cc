// SPDX-License-Identifier: Apache-2.0
#include "doors/http/answering.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "doors/http/exchange_testing.h"

namespace cloche::http {
namespace {

// What was sent, and whether what the work held was there still.
struct Sent {
  Response response;
  int times = 0;
  bool is_held = false;
};

class Client final : public UnexpectedExchange {
 public:
  Client(Sent& sent, std::weak_ptr<int> held) : sent_(sent), held_(std::move(held)) {}
  void send(Response response) override {
    sent_ = {std::move(response), sent_.times + 1, !held_.expired()};
  }

 private:
  Sent& sent_;
  const std::weak_ptr<int> held_;
};

Response sorry(const char* why) { return text_response(500, why); }

TEST(Answering, WhatTheWorkHoldsGoesBeforeTheClientIsTold) {
  auto held = std::make_shared<int>(7);
  Sent sent;
  auto job = answering(
      std::make_shared<Client>(sent, held),
      [held = std::move(held)] { return text_response(200 + *held, "done"); }, sorry);
  EXPECT_EQ(sent.times, 0);
  job();
  EXPECT_EQ(sent.times, 1);
  EXPECT_EQ(sent.response.status, 207);
  EXPECT_FALSE(sent.is_held);
}

TEST(Answering, WorkThatThrowsIsAnsweredByItsReason) {
  auto held = std::make_shared<int>(7);
  Sent sent;
  answering(
      std::make_shared<Client>(sent, held),
      [held = std::move(held)]() -> Response { throw std::runtime_error("no room"); }, sorry)();
  EXPECT_EQ(sent.times, 1);
  EXPECT_EQ(sent.response.status, 500);
  EXPECT_EQ(sent.response.body, "no room");
  EXPECT_FALSE(sent.is_held);
}

}  // namespace
}  // namespace cloche::http

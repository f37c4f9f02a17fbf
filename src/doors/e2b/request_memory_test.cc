// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/request_memory.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cloche::e2b {
namespace {

TEST(RequestMemory, DoesOnceWhatIsSaidTwice) {
  RequestMemory memory;
  int done = 0;
  const auto make = [&] { return http::text_response(201, std::to_string(++done)); };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(memory.once("ann", "key", "body", make).body, "1");
  EXPECT_EQ(memory.once("ann", "key", "other", make).status, 409);
  EXPECT_EQ(memory.once("bob", "key", "body", make).body, "2");
}

TEST(RequestMemory, ForgetsWhatHasFailed) {
  RequestMemory memory;
  const auto refuse = [] { return http::text_response(503, ""); };
  const auto fail = []() -> http::Response { throw std::runtime_error("no memory"); };
  EXPECT_EQ(memory.once("ann", "key", "body", refuse).status, 503);
  EXPECT_THROW((void)memory.once("ann", "key", "body", fail), std::runtime_error);
  EXPECT_EQ(memory.once("ann", "key", "body", [] { return http::text_response(201, ""); }).status,
            201);
}

}  // namespace
}  // namespace cloche::e2b

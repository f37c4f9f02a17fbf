// SPDX-License-Identifier: Apache-2.0
#include "base/trace_context.h"

#include <gtest/gtest.h>

#include <thread>

namespace cloche {
namespace {

constexpr const char* sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, IsReadAndWrittenAsItWasSent) {
  const auto context = parse_traceparent(sent);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(traceparent_text(*context), sent);
  EXPECT_FALSE(
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
}

TEST(TraceContext, ALaterVersionMayHaveMore) {
  const std::string later = "01" + std::string(sent).substr(2);
  EXPECT_TRUE(parse_traceparent(later));
  EXPECT_TRUE(parse_traceparent(later + "-what-comes"));
  EXPECT_FALSE(parse_traceparent(later + "x"));
  EXPECT_FALSE(parse_traceparent(later + "-" + std::string(1000, 'x')));
}

TEST(TraceContext, WhatIsNotValidIsNone) {
  const std::string good = sent;
  EXPECT_FALSE(parse_traceparent(""));
  EXPECT_FALSE(parse_traceparent(good + "-"));
  EXPECT_FALSE(parse_traceparent("ff" + good.substr(2)));
  EXPECT_FALSE(parse_traceparent("0x" + good.substr(2)));
  EXPECT_FALSE(parse_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
  for (const std::size_t at : {2, 3, 10, 35, 36, 52, 53}) {
    std::string broken = good;
    broken[at] = 'G';
    EXPECT_FALSE(parse_traceparent(broken)) << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_traceparent(std::string_view(good).substr(0, size))) << size;
}

TEST(TraceContext, APartHasAnIdOfItsOwnInTheSameTrace) {
  const TraceContext one = new_trace();
  EXPECT_EQ(parse_traceparent(traceparent_text(one)), one);
  const TraceContext part = child_of(*parse_traceparent(sent));
  EXPECT_EQ(part.trace_id, parse_traceparent(sent)->trace_id);
  EXPECT_NE(part.span_id, parse_traceparent(sent)->span_id);
  EXPECT_TRUE(parse_traceparent(traceparent_text(part)));
}

TEST(TraceScope, HoldsOnItsThreadAndNest) {
  EXPECT_EQ(current_trace(), nullptr);
  const TraceContext outer = new_trace();
  const TraceContext inner = child_of(outer);
  {
    const TraceScope scope(&outer);
    EXPECT_EQ(current_trace(), &outer);
    {
      const TraceScope nested(&inner);
      EXPECT_EQ(current_trace(), &inner);
    }
    EXPECT_EQ(current_trace(), &outer);
    std::thread([] { EXPECT_EQ(current_trace(), nullptr); }).join();
  }
  EXPECT_EQ(current_trace(), nullptr);
}

TEST(TraceScope, WorkTakesItsContextToAnotherThread) {
  std::function<void()> work;
  std::optional<TraceContext> seen;
  const TraceContext context = new_trace();
  {
    const TraceScope scope(&context);
    work = carry_trace([&seen] { seen = *current_trace(); });
  }
  std::thread(work).join();
  EXPECT_EQ(seen, context);
  work = carry_trace([] { EXPECT_EQ(current_trace(), nullptr); });
  work();
}

}  // namespace
}  // namespace cloche

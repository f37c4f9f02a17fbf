// SPDX-License-Identifier: Apache-2.0
#include "cluster/session_pages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "base/json.h"

namespace cloche::cluster {
namespace {

std::string session(std::string_view id, int ms) {
  return fmt::format(
      R"({{"sessionId":"{}","createdAt":"2026-01-02T03:04:05.{:03}Z","metadata":{{"b":1,"a":1.50}}}})",
      id, ms);
}

SessionPage page(const std::string& sessions, int total) {
  return page_of_json(
             fmt::format(R"({{"sessions":[{}],"total":{},"limit":9,"offset":0}})", sessions, total))
      .value();
}

TEST(SessionPages, AreMergedNewestFirst) {
  const std::vector<SessionPage> pages{page(session("d", 40) + "," + session("a", 10), 2),
                                       page("", 0),
                                       page(session("c", 30) + "," + session("b", 20), 7)};
  const std::string merged = merged_json(pages, 2, 1);
  const SessionPage read = page_of_json(merged).value();
  EXPECT_EQ(read.total, 9U);
  ASSERT_EQ(read.sessions.size(), 2U);
  EXPECT_EQ(read.sessions[0].id, "c");
  EXPECT_EQ(read.sessions[1].id, "b");
  EXPECT_NE(merged.find(R"("limit":2,"offset":1)"), merged.npos);
  EXPECT_EQ(page_of_json(merged_json(pages, 5, 100)).value().sessions.size(), 0U);
}

TEST(SessionPages, ThoseOfOneMomentHaveAnOrder) {
  const SessionPage one = page(session("a", 1), 1);
  const SessionPage two = page(session("b", 1), 1);
  EXPECT_EQ(merged_json({one, two}, 9, 0), merged_json({two, one}, 9, 0));
}

TEST(SessionPages, MetadataKeepsItsOrder) {
  const std::string merged = merged_json({page(session("a", 1), 1)}, 1, 0);
  EXPECT_NE(merged.find(R"("metadata":{"b":1,"a":1.5})"), merged.npos);
}

TEST(SessionPages, OfWhatIsNestedWithoutEndThereIsNone) {
  const auto page = [](std::size_t depth) {
    return R"({"total":1,"sessions":[{"createdAt":"","sessionId":"","m":)" +
           std::string(depth, '[') + std::string(depth, ']') + "}]}";
  };
  EXPECT_TRUE(page_of_json(page(100)));
  EXPECT_FALSE(page_of_json(page(200)));
  EXPECT_FALSE(page_of_json(page(1'000'000)));
}

// A tenant's metadata is 64 KiB a session, and a page may have a thousand of them.
TEST(SessionPages, WhatMetadataHoldsIsToldAndNoMore) {
  std::string values = "1";
  for (int i = 0; i < 20'000; ++i) values += ",[]";
  const std::string metadata =
      R"({"createdAt":"x","sessionId":5,"a":[1,-2,true,null,{"b":"\u00e9\n"}],"c":{},"d":[)" +
      values + "]}";
  std::string sessions;
  for (int i = 0; i < 200; ++i) {
    sessions += (i == 0 ? "" : ",") +
                fmt::format(R"({{"sessionId":"{}","createdAt":"t","metadata":{},"image":""}})", i,
                            metadata);
  }
  const std::size_t before = ::mallinfo2().uordblks;
  const SessionPage read = page(sessions, 200);
  EXPECT_LT(::mallinfo2().uordblks - before, 3 * sessions.size());
  ASSERT_EQ(read.sessions.size(), 200U);
  EXPECT_EQ(read.sessions[7].id, "7");
  EXPECT_EQ(read.sessions[7].created, "t");
  EXPECT_EQ(Json::parse(read.sessions[7].json)["metadata"], Json::parse(metadata));
}

TEST(SessionPages, OfWhatIsNoPageThereIsNone) {
  for (const char* text : {"", "[]", "{}", R"({"total":1})", R"({"sessions":[{}],"total":1})",
                           R"({"sessions":[],"total":1e30})", R"({"sessions":[[]],"total":1})",
                           R"({"sessions":[1],"total":1})", R"({"sessions":{},"total":1})", "1",
                           R"([{"sessions":[],"total":1}])"})
    EXPECT_FALSE(page_of_json(text).has_value()) << text;
}

}  // namespace
}  // namespace cloche::cluster

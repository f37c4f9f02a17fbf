// SPDX-License-Identifier: Apache-2.0
#include "cluster/session_pages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

TEST(SessionPages, OfWhatIsNoPageThereIsNone) {
  for (const char* text : {"", "[]", "{}", R"({"total":1})", R"({"sessions":[{}],"total":1})",
                           R"({"sessions":[],"total":1e30})"})
    EXPECT_FALSE(page_of_json(text).has_value()) << text;
}

}  // namespace
}  // namespace cloche::cluster

// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_files.h"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

constexpr const char* one = "1111111111111111111111111111111111111111111111111111111111111111";
constexpr const char* two = "2222222222222222222222222222222222222222222222222222222222222222";
constexpr const char* three = "3333333333333333333333333333333333333333333333333333333333333333";
constexpr TemplateFiles::Limits small{.archive_bytes = 64, .owner_bytes = 128, .all_bytes = 512};

TEST(TemplateFiles, AreOfTheirOwnerAlone) {
  TemplateFiles files(small);
  EXPECT_EQ(files.find("a", one), nullptr);
  EXPECT_TRUE(files.keep("a", one, "text"));
  EXPECT_EQ(*files.find("a", one), "text");
  EXPECT_EQ(files.find("b", one), nullptr);
  EXPECT_EQ(files.find("a", two), nullptr);
  EXPECT_TRUE(files.keep("a", one, "newer"));
  EXPECT_EQ(*files.find("a", one), "newer");
}

TEST(TemplateFiles, ATicketIsOfOneArchive) {
  TemplateFiles files(small);
  const std::string ticket = files.make_ticket("a", one);
  EXPECT_EQ(files.owner_of_ticket(ticket, one), "a");
  EXPECT_EQ(files.owner_of_ticket(ticket, two), std::nullopt);
  EXPECT_EQ(files.owner_of_ticket("", one), std::nullopt);
  EXPECT_EQ(files.owner_of_ticket(ticket.substr(1), one), std::nullopt);
}

TEST(TemplateFiles, AnOwnersTicketsPushOutItsOwnAlone) {
  TemplateFiles files(small);
  const std::string others = files.make_ticket("b", one), first = files.make_ticket("a", one);
  for (int i = 0; i < 12 * TemplateFiles::owner_tickets_max; ++i) (void)files.make_ticket("a", two);
  EXPECT_EQ(files.owner_of_ticket(first, one), std::nullopt);
  EXPECT_EQ(files.owner_of_ticket(others, one), "b");
}

TEST(TemplateFiles, TheLongestUnusedOfAnOwnerGoesFirst) {
  TemplateFiles files(small);
  const std::string most(small.archive_bytes, 'x');
  EXPECT_TRUE(files.keep("b", one, "small"));
  EXPECT_TRUE(files.keep("a", one, most));
  EXPECT_TRUE(files.keep("a", two, most));
  EXPECT_NE(files.find("a", one), nullptr);
  EXPECT_TRUE(files.keep("a", three, "x"));
  EXPECT_EQ(files.find("a", two), nullptr);
  EXPECT_NE(files.find("a", one), nullptr);
  EXPECT_NE(files.find("b", one), nullptr);
}

TEST(TemplateFiles, HaveLimits) {
  TemplateFiles files(small);
  EXPECT_FALSE(files.keep("a", one, std::string(small.archive_bytes + 1, 'x')));
  const std::string most(small.archive_bytes, 'x');
  const auto owners = small.all_bytes / small.archive_bytes;
  for (std::size_t i = 0; i < owners; ++i)
    EXPECT_TRUE(files.keep("owner" + std::to_string(i), one, most));
  EXPECT_FALSE(files.keep("late", one, "x"));
  EXPECT_NE(files.find("owner0", one), nullptr);
}

}  // namespace
}  // namespace cloche::e2b

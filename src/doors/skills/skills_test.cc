// SPDX-License-Identifier: Apache-2.0
#include "doors/skills/skills.h"

#include <gtest/gtest.h>

#include <set>

namespace cloche::skills {
namespace {

TEST(SkillsTest, EachIsThereOnceAndIsAShortPage) {
  constexpr std::size_t short_bytes = 4000;
  std::set<std::string_view> names;
  for (const Skill& skill : all()) {
    EXPECT_TRUE(names.insert(skill.name).second) << skill.name;
    EXPECT_TRUE(skill.page.starts_with("# ")) << skill.name;
    EXPECT_TRUE(skill.page.ends_with("\n")) << skill.name;
    EXPECT_LT(skill.page.size(), short_bytes) << skill.name;
    EXPECT_EQ(find(skill.name)->page, skill.page);
    EXPECT_NE(overview().find(skill.name), std::string::npos);
    EXPECT_NE(index().find(std::string("/skills/") + std::string(skill.name) + ".md"),
              std::string::npos);
  }
  EXPECT_EQ(find("nonesuch"), nullptr);
}

}  // namespace
}  // namespace cloche::skills

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "base/error.h"
#include "doors/cli/commands.h"
#include "doors/skills/skills.h"

namespace cloche::cli {

int skill_command(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    fmt::print("{}", skills::overview());
    return 0;
  }
  const skills::Skill* skill = words.size() == 1 ? skills::find(words[0]) : nullptr;
  if (skill == nullptr)
    throw request_error("skill wants the name of one page; cloche skill says which there are");
  fmt::print("{}", skill->page);
  return 0;
}

}  // namespace cloche::cli

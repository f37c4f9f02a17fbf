// SPDX-License-Identifier: Apache-2.0
// Skill pages: from one an agent learns to use a door of Cloche. `cloche skill` prints them,
// `cloche serve` has them at /skill.md, /llms.txt and /skills/NAME.md. Their text is in pages/, and
// each example in them is run by tests/skills.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cloche::skills {

struct Skill {
  std::string_view name;
  std::string_view what_for;  // one line
  std::string_view page;      // Markdown
};

std::span<const Skill> all();
// Null when there is none of that name.
const Skill* find(std::string_view name);

// What `cloche skill` prints: which there are, and how to get them.
std::string overview();
// The same for who comes by HTTP, as llms.txt: with addresses.
std::string index();

}  // namespace cloche::skills

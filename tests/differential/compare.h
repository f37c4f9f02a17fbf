// SPDX-License-Identifier: Apache-2.0
// What differs between the two sides of a case, and how that is shown.
#pragma once

#include <map>
#include <string>

#include "case_file.h"
#include "side.h"

namespace cloche::differential {

// A part of both sides as it is compared: normalised as README.md says, so that equal strings mean
// no difference.
struct Compared {
  std::string native;
  std::string ours;
  bool differs() const { return native != ours; }
};
std::map<Part, Compared> compared_parts(const Case& each, const Outcome& native,
                                        const Outcome& ours);

// Lines of a diff: "-" native, "+" ours, " " both; bytes that a terminal would not show as \xHH.
std::string diff_text(const std::string& native, const std::string& ours);

}  // namespace cloche::differential

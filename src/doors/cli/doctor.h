// SPDX-License-Identifier: Apache-2.0
// cloche doctor: what this machine can do, and what to change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cloche/error.h"
#include "doors/cli/machine.h"

namespace cloche::cli {

struct Finding {
  enum class Kind : std::uint8_t {
    good,
    fact,     // good to know, no better and no worse
    note,     // works, but slower or with less than there could be
    problem,  // sandboxes do not work, or not all of them
  };
  Kind kind = Kind::good;
  std::string name;    // stable: one or two lower-case words
  std::string said;    // what is
  std::string advice;  // what to do, for a note or a problem; empty for the others
};

// Judges the facts; looks at nothing.
std::vector<Finding> examine(const Machine& machine);
Finding examine(const CacheFolder& cache);
// Where sandboxes go on without one, as sandbox::usable_cache_folder says.
Finding examine_lack_of_cache(const Error& why);

// As lines for a person, or as one JSON object: {"ok", "version", "findings": [{"kind", "name",
// "said", "advice"}]}.
std::string as_text(const std::vector<Finding>& findings);
std::string as_json(const std::vector<Finding>& findings);

// Whether none of them is a problem.
bool all_well(const std::vector<Finding>& findings);

}  // namespace cloche::cli

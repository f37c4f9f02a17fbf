// SPDX-License-Identifier: Apache-2.0
// The exit codes of runs that have not ended by themselves, as cloche/run.h says them.
#pragma once

#include <string>
#include <string_view>

#include "cloche/run.h"

namespace cloche::sandbox {

inline constexpr int status_timed_out = 124;
inline constexpr int status_killed = 137;

// `what`: the code, or the command.
inline RunResult cancelled_before_it_began(std::string_view what) {
  RunResult result;
  result.status = RunStatus::killed;
  result.exit_code = status_killed;
  result.reason = std::string(what) + " was cancelled before it began";
  return result;
}

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
// The exit codes of runs that have not ended by themselves, as cloche/run.h says them.
#pragma once

namespace cloche::sandbox {

inline constexpr int status_timed_out = 124;
inline constexpr int status_killed = 137;

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
// How long an interpreter that was told to stop may take, in either engine, before it is killed.
#pragma once

#include <chrono>

namespace cloche::python {

// An interpreter that computes looks for signals all the time, so one that has computed for this
// long without hearing is in a long operation of C, and cannot be stopped. What it does to hear
// runs for the first time in its life and copies pages of its image: some milliseconds on a busy
// host.
inline constexpr std::chrono::milliseconds cpu_to_hear{100};
// Wall clock: until it hears, where it does not compute: for want of a core, then, since every wait
// in the kernel hears.
inline constexpr std::chrono::milliseconds to_hear{30'000};
// Until it is out, once it has heard: a second when it computes meanwhile; otherwise it waits, or
// for a core.
inline constexpr std::chrono::milliseconds to_leave{1000};
inline constexpr std::chrono::milliseconds cpu_to_leave{50};
inline constexpr std::chrono::milliseconds to_leave_at_rest{10'000};

enum class Heard : bool { no, yes };

// Whether it has had its time: `since` and `cpu`, wall clock and its own computing, from when it
// was told, or from when it heard.
constexpr bool has_had_its_time(Heard heard, std::chrono::nanoseconds since,
                                std::chrono::nanoseconds cpu) {
  if (heard == Heard::yes)
    return since >= to_leave_at_rest || (since >= to_leave && cpu >= cpu_to_leave);
  return since >= to_hear || cpu >= cpu_to_hear;
}

}  // namespace cloche::python

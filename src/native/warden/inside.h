// SPDX-License-Identifier: Apache-2.0
// Inside: how pid 1 of a box begins behind gVisor, which keeper.h has started it in. The kernel is
// another one, so the files are put together by mounts of that, and it has no privilege that this
// machine's kernel knows of. From then on it is the init of any box.
#pragma once

namespace cloche::warden {

// In the root folder that gVisor shows at first.
inline constexpr const char* inside_program = "cloche";
inline constexpr const char* inside_plan = "plan";    // a MakeBox
inline constexpr const char* inside_word = "inside";  // its only argument

// Its socket to Cloche is descriptor 3. The exit status.
int serve_inside() noexcept;

}  // namespace cloche::warden

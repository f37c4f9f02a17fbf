// SPDX-License-Identifier: Apache-2.0
// A command on its way from pid 1's fork to exec.
#pragma once

#include "native/warden/fd.h"
#include "native/warden/filter.h"
#include "native/warden/wall.h"
#include "native/warden/wire.h"

namespace cloche::warden {

struct CommandPlan {
  Request request;
  int channel = -1;    // told where it fails
  int arguments = -1;  // the file
  int terminal = -1;   // its master; -1: none
  int start = -1;      // closed when it has become the command; -1: nobody waits for that
  int files[most_fds] = {};
  std::size_t file_count = 0;
};

// In the forked process. Becomes the command, or says on the channel why not and exits with 127.
[[noreturn]] void become_command(const CommandPlan& plan, const WallPlan& wall,
                                 const Filter& filter) noexcept;

// No signal is blocked or ignored, whatever pid 1 has.
void reset_signals() noexcept;

}  // namespace cloche::warden

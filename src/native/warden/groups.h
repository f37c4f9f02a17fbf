// SPDX-License-Identifier: Apache-2.0
// Groups: control groups (version 2) for boxes, where somebody has left a folder of them to Cloche.
// Then the kernel itself holds what a box may have of memory and processes, and shares processors
// between boxes. Without one pid 1 of each box watches alone, and limits of processes hold.
//
//   FOLDER/cloche-programs      what was in FOLDER before, where that is the group of Cloche itself
//   FOLDER/cloche-PID/warden    this process
//   FOLDER/cloche-PID/box-N     a box, from before its first step until it has ended
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "native/warden/fd.h"
#include "native/warden/wire.h"

namespace cloche::warden {

class Groups {
 public:
  static constexpr std::size_t most_groups = 4096;

  Groups() noexcept = default;
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // FOLDER is `named`; null: it is the group that this process is in, where systemd says that it is
  // delegated (Delegate=yes) and nobody is in it but `program`, which has started this process, and
  // what that has started; those are moved to cloche-programs. What an earlier warden has left is
  // removed. Root calls it before it becomes somebody else, whose groups they are then.
  void begin(const char* named, pid_t program) noexcept;

  // Bits of `controllers`; 0: there are no groups.
  std::uint32_t have() const noexcept { return have_; }

  // Why none can be made in the folder that was named; an errno.
  int error() const noexcept { return error_; }

  // For one more box; none: there are none, or no more.
  Fd make() noexcept;
  // Of the last one that was made: who is in it, until it has ended. 0: nobody, and it is removed.
  void give(pid_t pid) noexcept;
  void end(pid_t pid) noexcept;

 private:
  struct Group {
    std::uint32_t number = 0;  // 0: none
    pid_t pid = 0;
  };
  int set_up(const char* named, pid_t program) noexcept;
  bool enable(const Fd& folder) noexcept;
  bool make_own(const Fd& folder) noexcept;
  bool remove(std::uint32_t number) noexcept;

  std::uint32_t have_ = 0;
  int error_ = 0;
  Fd own_;  // cloche-PID
  std::uint32_t last_ = 0;
  std::array<Group, most_groups> groups_{};
  Group* newest_ = nullptr;
};

}  // namespace cloche::warden

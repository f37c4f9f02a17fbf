// SPDX-License-Identifier: Apache-2.0
// The processes of a box, as its pid 1 sees them in /proc. A run is told by its mark, the uts
// namespace that its command was started in: all that it starts inherits it, and nothing leaves it.
// Of what executes a file that it may not read the kernel may tell nothing: that is of every run.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>

#include "native/warden/activity.h"
#include "native/warden/shared_memory.h"
#include "native/warden/wire.h"

namespace cloche::warden {

using Mark = ino_t;  // 0: none

class Processes {
 public:
  Processes() noexcept;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Spared by what follows: the file server, packers and relays. False: there are too many.
  bool spare(pid_t pid) noexcept;
  // A command that pid 1 has started, and its mark: until it has become its program it is a copy of
  // pid 1, of which /proc says nothing.
  void know(pid_t pid, Mark mark) noexcept;
  // Whether it is one still.
  bool is_copy_of_init(pid_t pid) const noexcept;
  // It has ended.
  void forget(pid_t pid) noexcept;

  // Ends what has this mark, in whatever session, also what is being started meanwhile. Mark 0:
  // all.
  void end(Mark mark) noexcept { end(mark, 0); }
  // Those of a turn, and of later ones, alone. What a process is of, all that it starts is of as
  // well: its limit of locks of files, which Linux has not looked at since 2.4, and which nobody
  // can raise, is that much below what it could be.
  void end(Mark mark, std::uint32_t turn) noexcept;
  // The process, and what it starts from now on, is of that turn. An errno.
  static int begin_turn(pid_t pid, std::uint32_t turn) noexcept;
  // Stops all that runs, and lets go on what was stopped by this, however often it was. `waiting`
  // wait for pid 1, and stop when that lets them go on.
  void pause(std::span<const pid_t> waiting) noexcept;
  void resume() noexcept;

  struct Use {
    std::uint64_t count = 0;
    std::uint64_t private_bytes = 0;  // of all, with what the kernel keeps for them
    std::uint64_t shared_bytes = 0;  // pages of files in memory, and of what they share without one
    std::uint64_t mapped_bytes = 0;  // address space that may be of memory without a file
    pid_t largest = 0;
    std::uint64_t largest_bytes = 0;
    std::uint64_t most_private_bytes = 0;  // of one
  };
  // Pages that several processes have count for each of them: never too little. From a look that is
  // noted it is known what they compute afterwards.
  Use rough_use(Activity* noted = nullptr) noexcept;
  // Such pages count once. Slower.
  Use exact_use() noexcept;

  struct Shared {
    std::uint64_t bytes = 0;  // see SharedMemory
    pid_t largest = 0;        // who has mapped most of it
    std::uint64_t largest_bytes = 0;
  };
  Shared shared_memory() noexcept;
  // See SharedMemory.
  bool expect_shared(pid_t thread, std::uint64_t bytes) noexcept {
    return shared_.expect(thread, bytes);
  }
  bool expects_more_shared() const noexcept { return shared_.expects_more(); }

  // Who has the most descriptors; 0 where the kernel does not tell.
  pid_t with_most_files() noexcept;

  // How many there are, and which, as far as there is room.
  std::size_t all(std::span<pid_t> to) noexcept;
  // Writes a ProcessRecord of each to the file; an errno.
  int list(int file) noexcept;
  // An errno. ESRCH: there is no such process, as far as guests are concerned.
  int signal(pid_t pid, int number) noexcept;
  // What all have computed, those that have ended too.
  std::uint64_t cpu_ns() noexcept;

  // The most that it has had in memory at once, pages of files included, as the kernel counts it;
  // 0: it has none, or is gone.
  static std::uint64_t peak_bytes(pid_t pid) noexcept;
  Mark mark_of(pid_t pid) const noexcept;
  // And has nothing open any more.
  static bool has_ended(pid_t pid) noexcept;
  // What all have together, files in memory included, as gVisor's kernel counts it.
  static std::uint64_t all_bytes() noexcept;
  static std::uint64_t system_v_bytes() noexcept;

 private:
  template <typename Visit>
  void each(Visit&& visit) noexcept;

  DIR* folder_;
  bool is_spared(pid_t pid) const noexcept;
  bool signal_marked(pid_t pid, Mark mark, int signal, std::uint32_t turn = 0) const noexcept;

  struct Command {
    pid_t pid = 0;  // 0: a free place
    Mark mark = 0;
  };
  std::array<Command, most_runs> commands_{};
  std::array<pid_t, 128> spared_{};  // 0: a free place
  SharedMemory shared_;
  std::array<pid_t, 4096> paused_{};
  std::size_t paused_count_ = 0;
};

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
// The processes of a box, as its pid 1 sees them in /proc. A run is told by its mark, the uts
// namespace that its command was started in: all that it starts inherits it, and nothing leaves it.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>

namespace cloche::warden {

using Mark = ino_t;  // 0: none

class Processes {
 public:
  Processes() noexcept;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Spared by what follows: the file server; 0: there is none.
  void spare(pid_t pid) noexcept { spared_ = pid; }

  // Ends what has this mark, in whatever session, also what is being started meanwhile. Mark 0:
  // all.
  void end(Mark mark) noexcept;
  // Stops all that runs, and lets go on what was stopped by this. `waiting` wait for pid 1, and
  // stop when that lets them go on.
  void pause(std::span<const pid_t> waiting) noexcept;
  void resume() noexcept;

  struct Use {
    std::uint64_t count = 0;
    std::uint64_t private_bytes = 0;  // of all
    std::uint64_t shared_bytes = 0;   // in memory that they share without a file
    pid_t largest = 0;
  };
  // Pages that several processes have count for each of them: never too little.
  Use rough_use() noexcept;
  // Such pages count once. Slower.
  Use exact_use() noexcept;

  // Writes a ProcessRecord of each to the file; an errno.
  int list(int file) noexcept;
  // An errno. ESRCH: there is no such process, as far as guests are concerned.
  int signal(pid_t pid, int number) noexcept;
  // What all have computed, those that have ended too.
  std::uint64_t cpu_ns() noexcept;

  static Mark mark_of(pid_t pid) noexcept;
  static std::uint64_t system_v_bytes() noexcept;

 private:
  template <typename Visit>
  void each(Visit&& visit) noexcept;

  DIR* folder_;
  pid_t spared_ = 0;
  std::array<pid_t, 4096> paused_{};
  std::size_t paused_count_ = 0;
};

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
// KernelHoards: who makes the kernel keep too much that no limit of a process bounds, and that no
// memory of a process shows.
//
// Watches of epoll: the kernel has a number of them for all processes of a user of the machine,
// which are those of all boxes, and Cloche too where the user is nobody else: a box that took them
// all would leave no server a connection. Areas of memory: 65,530 of each process, whatever is in
// them. Pipes: two pages each, however many there are; beside that the kernel leaves all processes
// of a user together larger ones of some tens of megabytes. Texts of /proc that somebody has begun
// to read and has not closed, and events of inotify that nobody has read. Open folders: of each the
// kernel may keep a list of all its entries. Locks of files, and open files of any kind. And it
// holds what says who is ended first where the machine has no memory, which a guest can write.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>

#include "native/warden/file_locks.h"
#include "native/warden/processes.h"
#include "native/warden/sent_descriptors.h"

namespace cloche::warden {

class KernelHoards {
 public:
  struct Room {
    std::uint64_t watches = 0;
    std::uint64_t bytes = 0;  // what areas may take; pipes with texts; and locks
  };
  // What a process has open.
  struct Open {
    std::uint64_t watches = 0;     // of epoll
    std::uint64_t pages = 0;       // of pipes, texts of /proc, events
    std::uint64_t list_bytes = 0;  // of folders, and descriptors on their way
    std::uint64_t sent = 0;        // those, to sockets that it has open
    std::uint64_t files = 0;
    std::uint64_t locks = 0;  // where those are counted
  };
  enum class Locks : std::uint8_t { leave_out, count };
  // Those without whom there is room again. Now and then: otherwise nobody.
  std::span<const pid_t> look(Processes& processes, const Room& room) noexcept;

  // Of a box; that many, or two for each file that a process may have open.
  static constexpr std::uint64_t most_watches = 32'768;

 private:
  static constexpr std::size_t most_processes = FileLocks::most_processes;
  struct Hoarder {
    std::uint64_t has = 0;
    pid_t pid = 0;
  };
  void find_watchers(std::uint64_t most) noexcept;
  void find_buffers(std::uint64_t most_bytes) noexcept;
  void find_mappers(std::uint64_t most_bytes) noexcept;
  void find_lockers(std::uint64_t most_bytes) noexcept;
  bool is_time(Processes& processes, const Room& room) noexcept;
  void end_largest(std::uint64_t all, std::uint64_t most) noexcept;

  std::array<pid_t, most_processes> processes_{};
  std::array<Hoarder, most_processes> hoarders_{};  // of the same processes
  Open open_in(pid_t pid, Locks locks) noexcept;
  void add_hidden() noexcept;
  void find_watchers_on_their_way(std::uint64_t sent) noexcept;

  std::array<Open, most_processes> open_{};  // of the same processes
  FileLocks locks_;
  SentDescriptors sockets_;
  std::array<pid_t, 6 * most_processes> ending_{};
  std::size_t count_ = 0;
  std::size_t ending_count_ = 0;
  std::uint64_t files_ = 0;         // that there were at the last look
  std::int64_t next_ms_ = 0;        // of a look
  std::int64_t next_early_ms_ = 0;  // of one where there are many more files
};

}  // namespace cloche::warden

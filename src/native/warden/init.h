// SPDX-License-Identifier: Apache-2.0
// Init: pid 1 of a box. It starts commands, hands out terminals, ends runs, watches memory, reaps,
// joins connections to the world outside where the box has a network, and reads for nobody what is
// left of an output. One thread, one loop; it waits for nothing that a guest can hold up. When
// Cloche's end of its socket is closed it ends, and the kernel ends the box.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "native/warden/activity.h"
#include "native/warden/box_group.h"
#include "native/warden/dialer.h"
#include "native/warden/fd.h"
#include "native/warden/filter.h"
#include "native/warden/kernel_hoards.h"
#include "native/warden/looks.h"
#include "native/warden/processes.h"
#include "native/warden/question.h"
#include "native/warden/socket_memory.h"
#include "native/warden/wall.h"
#include "native/warden/wire.h"

namespace cloche::warden {

class Packet;

class Init {
 public:
  struct Plan {
    Fd socket;  // to Cloche
    BoxGroup group;
    Fd changes;  // the folder of the box's changes
    Fd storage;  // what that is in, of a box that settles later; or none
    Fd score;    // its own, of who is ended first where there is no memory; or none
    std::uint64_t memory_bytes = 0;
    Isolation isolation = Isolation::full;
    WallPlan wall;
  };
  Init(Plan plan, const Filter& filter) noexcept;
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;

  // Returns when Cloche is gone.
  void serve() noexcept;

 private:
  struct Run {
    Fd channel;     // of none: the slot is free
    Fd start;       // at its end the command has begun
    Fd mark_space;  // keeps the mark from being given to another run
    Mark mark = 0;
    pid_t pid = 0;
    bool has_terminal = false;
    Fd terminal;  // its master, behind gVisor alone
    // Until the command has its own: a terminal that nobody has open is over for its relay.
    Fd terminal_end;
    bool ended = false;
    bool memory_exceeded = false;
  };
  enum class Source : std::uint32_t { socket, signals, run, start, drain, question, dial };

  struct Event {
    Source source;
    std::uint32_t index;  // of a run, or of what is drained
  };

  // What it waits for, into `waiting_` and `sources_`; how many.
  std::size_t gather() noexcept;
  bool take(Event event) noexcept;
  bool take_request() noexcept;
  void settle(const Fd& channel) noexcept;
  void start_run(const Request& request, Packet& packet) noexcept;
  struct Terminal;
  Outcome prepare(Terminal& terminal, const Request& request, Packet& packet) const noexcept;
  void start_files(Fd channel) noexcept;
  pid_t fork_with(std::string_view score) noexcept;
  // Forks a process that no run's end is the end of, and that nobody is told of; as fork says it.
  pid_t fork_apart() noexcept;
  WallPlan wall_of_helpers() const noexcept;
  void start_tree(Ask what, Fd channel, Fd stream) noexcept;
  void answer(const Fd& channel, const Answer& what, std::span<const int> fds = {}) noexcept;
  void answer_usage(const Fd& channel) noexcept;
  void open_network(const Fd& channel, Packet& packet) noexcept;
  void open_calls(const Fd& channel) noexcept;
  void connect_to(const Fd& channel, const Request& request, Packet& packet) noexcept;
  void take_question() noexcept;
  void take_order(Run& run) noexcept;
  void tell_start(Run& run) noexcept;
  void signal_run(const Run& run, int number) noexcept;
  void drop(Run& run) noexcept;
  void reap() noexcept;
  void add_drain(int fd) noexcept;
  void read_drain(std::uint32_t index) noexcept;
  int look_at_memory() noexcept;
  bool may_have_grown() const noexcept;
  bool was_killed_for_memory() noexcept;
  void watch_memory() noexcept;
  void watch_memory_of_gvisor() noexcept;
  void watch_kernel() noexcept;
  void end_for_memory(pid_t victim) noexcept;
  bool busy() const noexcept;
  std::uint64_t file_bytes() const noexcept;
  std::uint64_t inode_bytes() const noexcept;

  Plan plan_;
  const Filter& filter_;
  Processes processes_;
  Questions questions_;
  Dialer dialer_{questions_};
  Fd signals_;
  pid_t file_server_ = 0;
  std::uint64_t guests_ = 0;  // at the last look
  Processes::Shared shared_;  // at the last look at it
  std::uint64_t mapped_ = 0;  // that there was then
  unsigned looks_ = 0;
  std::uint64_t used_bytes_ = 0;
  SocketMemory sockets_;
  pid_t socket_holder_ = 0;         // who was ended for those that he had
  std::int64_t socket_end_ms_ = 0;  // until when his end is waited for
  KernelHoards hoards_;
  Activity activity_;  // since the last look
  // What was left at that, where it has found all that there was; 0: that is not known.
  std::uint64_t rest_bytes_ = 0;
  std::int64_t next_look_ms_ = 0;  // 0: no time is set
  std::int64_t last_look_ms_ = 0;
  int interval_ms_ = looks::shortest_ms;
  std::int64_t ended_for_memory_ms_ = 0;  // until when that may not have been seen
  // Until when an end may be one at the limit of memory, of which it is not known whose it is.
  std::int64_t unclear_kill_ms_ = 0;
  std::array<Run, most_runs> runs_;
  std::array<Fd, 2 * most_runs> drains_;
  static constexpr std::size_t most_sources = 4 + 4 * most_runs;
  std::array<pollfd, most_sources> waiting_;
  std::array<Event, most_sources> sources_;
};

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
// What an init does about memory: see init.h.
#include <sys/statfs.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>

#include "native/warden/init.h"

namespace cloche::warden {
namespace {

constexpr int unclear_for_ms = 2000;

}  // namespace

bool Init::busy() const noexcept {
  return guests_ > 0 || std::any_of(runs_.begin(), runs_.end(),
                                    [](const Run& run) { return run.channel && !run.ended; });
}

// When it is time; a box in which nothing runs is not looked at. How long to wait for something else,
// as poll has it.
int Init::look_at_memory() noexcept {
  if (busy() && next_look_ms_ != 0 && looks::now_ms() >= next_look_ms_) {
    if (may_have_grown()) {
      const std::int64_t begin_us = looks::computed_us();
      rest_bytes_ = 0;
      watch_memory();
      watch_kernel();
      interval_ms_ = looks::interval_ms(rest_bytes_, looks::computed_us() - begin_us);
      last_look_ms_ = looks::now_ms();
    }
    next_look_ms_ = 0;
  }
  if (!busy()) {
    next_look_ms_ = 0;
    interval_ms_ = looks::shortest_ms;
    rest_bytes_ = 0;
    return -1;
  }
  const std::int64_t now = looks::now_ms();
  if (next_look_ms_ == 0) next_look_ms_ = now + interval_ms_;
  if (processes_.expects_more_shared())
    next_look_ms_ = std::min(next_look_ms_, now + looks::shortest_ms);
  return static_cast<int>(std::max<std::int64_t>(next_look_ms_ - now, 0));
}

// Beyond what was left, as far as is known.
bool Init::may_have_grown() const noexcept {
  if (rest_bytes_ == 0 || processes_.expects_more_shared() ||
      looks::now_ms() - last_look_ms_ >= looks::longest_rest_ms)
    return true;
  const std::optional<std::uint64_t> computed_ns = activity_.since_ns();
  return !computed_ns || *computed_ns >= looks::least_ns(rest_bytes_);
}

std::uint64_t Init::file_bytes() const noexcept {
  struct statfs use{};
  if (::fstatfs(plan_.changes.get(), &use) != 0) return 0;
  return (use.f_blocks - use.f_bfree) * static_cast<std::uint64_t>(use.f_bsize);
}

// Of each the kernel has a kilobyte, with its name; a machine that writes nothing out cannot give that
// back. Its attributes count as further ones.
std::uint64_t Init::inode_bytes() const noexcept {
  constexpr std::uint64_t bytes_of_one = 1024, usual = 2048;
  struct statfs use{};
  if (::fstatfs(plan_.changes.get(), &use) != 0) return 0;
  const std::uint64_t all = use.f_files - std::min(use.f_ffree, use.f_files);
  return (all - std::min(all, usual)) * bytes_of_one;
}

// By the kernel, which does not say whom it has chosen, or by pid 1, where the process did not let
// it be told whose it was; and a large one needs a while to end.
bool Init::was_killed_for_memory() noexcept {
  if (plan_.group.killed() > 0) unclear_kill_ms_ = looks::now_ms() + unclear_for_ms;
  return looks::now_ms() < unclear_kill_ms_;
}

// What processes map of files in memory is in the files. Memory that they share without one is
// looked for where some was made, where it may have become too much, and every few turns as long as
// that is so; in between what the last look found counts.
void Init::watch_memory() noexcept {
  constexpr unsigned looks_between = 5;
  constexpr int longest_end_ms = 1000;
  if (plan_.isolation == Isolation::gvisor) return watch_memory_of_gvisor();
  (void)was_killed_for_memory();
  Processes::Use use = processes_.rough_use(&activity_);
  guests_ = use.count;
  if (plan_.memory_bytes == 0) rest_bytes_ = ~std::uint64_t{0};
  if (plan_.memory_bytes == 0 || use.largest == 0) return;
  std::uint64_t files = file_bytes() + inode_bytes() + Processes::system_v_bytes();
  const std::uint64_t has_already = use.private_bytes + files + shared_.bytes;
  const std::uint64_t sockets =
      sockets_.bytes(plan_.memory_bytes - std::min(plan_.memory_bytes, has_already));
  files += sockets;
  const auto all = [&] { return use.private_bytes + files + shared_.bytes; };
  const bool may_have = all() + use.mapped_bytes > plan_.memory_bytes;
  bool is_whole = !may_have;
  if (processes_.expects_more_shared() ||
      (may_have && (use.mapped_bytes != mapped_ || looks_++ % looks_between == 0))) {
    mapped_ = use.mapped_bytes;
    shared_ = processes_.shared_memory();
    is_whole = true;
  }
  const auto is_within = [&] {
    used_bytes_ = all();
    if (used_bytes_ > plan_.memory_bytes) return false;
    if (is_whole) rest_bytes_ = plan_.memory_bytes - used_bytes_;
    return true;
  };
  if (is_within()) return;
  // One process alone has each page once. Only otherwise all are asked for more, which waits where
  // one of them is in the midst of a change.
  if (use.most_private_bytes + files <= plan_.memory_bytes) {
    if (shared_.bytes > 0) shared_ = processes_.shared_memory();
    use = processes_.exact_use();
    if (use.largest == 0 || is_within()) return;
  }
  pid_t victim = shared_.largest_bytes > use.largest_bytes ? shared_.largest : use.largest;
  if (sockets > std::max(use.private_bytes, shared_.bytes)) {
    // They go with who has them, a moment after he has none any more.
    if (looks::now_ms() < socket_end_ms_ && !Processes::has_ended(socket_holder_)) return;
    if (const pid_t holder = processes_.with_most_files(); holder != 0) victim = holder;
    sockets_.forget();
    socket_holder_ = victim;
    socket_end_ms_ = looks::now_ms() + longest_end_ms;
  }
  end_for_memory(victim);
  mapped_ = 0;  // the next look is a whole one
}

// Its kernel says how much memory all have, files in memory included. What a process had that was
// ended is there for a while.
void Init::watch_memory_of_gvisor() noexcept {
  constexpr int longest_end_ms = 200;
  const Processes::Use use = processes_.rough_use();
  guests_ = use.count;
  if (plan_.memory_bytes == 0 || use.largest == 0 || looks::now_ms() < ended_for_memory_ms_) return;
  if (Processes::all_bytes() <= plan_.memory_bytes) return;
  end_for_memory(use.largest);
  ended_for_memory_ms_ = looks::now_ms() + longest_end_ms;
}

void Init::watch_kernel() noexcept {
  if (plan_.isolation == Isolation::gvisor) return;
  const std::uint64_t files = 2 * std::uint64_t{plan_.wall.open_files};
  const bool is_bounded = plan_.memory_bytes != 0;
  const KernelHoards::Room room{
      .watches = std::max(KernelHoards::most_watches, files),
      .bytes = is_bounded ? plan_.memory_bytes - std::min(plan_.memory_bytes, used_bytes_)
                          : ~std::uint64_t{0}};
  for (const pid_t hoarder : hoards_.look(processes_, room)) end_for_memory(hoarder);
}

void Init::end_for_memory(pid_t victim) noexcept {
  const Mark mark = processes_.mark_of(victim);
  if (mark == 0) unclear_kill_ms_ = looks::now_ms() + unclear_for_ms;
  for (Run& run : runs_) {
    if (run.channel && mark != 0 && run.mark == mark) run.memory_exceeded = true;
  }
  (void)::kill(victim, SIGKILL);
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
// Waiting for files: ppoll, pselect6 and epoll.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernel/files/epoll.h"
#include "kernel/files/poll_set.h"
#include "kernel/kernel.h"
#include "kernel/linux/guest_time.h"
#include "kernel/linux/temporary_mask.h"

namespace cloche::kernel::lnx {
namespace {

struct GuestPollfd {
  std::int32_t fd;
  std::uint16_t events, revents;
};
static_assert(sizeof(GuestPollfd) == 8);

SysResult ppoll(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t address = call.u32(0);
  const std::uint32_t count = call.u32(1);
  if (count > call.process.fds.limit()) return Errno::inval;
  CLOCHE_ASSIGN(Deadline deadline, read_timeout(call, call.u32(2)));
  CLOCHE_ASSIGN(std::vector<GuestPollfd> wanted,
                call.memory.read_array<GuestPollfd>(address, count, count));
  CLOCHE_ASSIGN(TemporaryMask mask, TemporaryMask::set(call, call.u32(3), call.u32(4)));

  PollSet set;
  std::vector<std::size_t> places;  // of the set's entries in `wanted`
  std::size_t bad = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].revents = 0;
    if (wanted[i].fd < 0) continue;
    Result<FilePtr> file = call.process.fds.get(wanted[i].fd);
    if (!file || ((*file)->flags() & o_path) != 0) {
      wanted[i].revents = static_cast<std::uint16_t>(pollnval);
      ++bad;
      continue;
    }
    set.add(*std::move(file), wanted[i].events);
    places.push_back(i);
  }
  if (bad != 0) deadline = call.kernel.clock().steady();
  const Result<std::size_t> ready = set.wait(call.task, deadline);
  if (!ready) return mask.end(ready.error());
  for (std::size_t i = 0; i < places.size(); ++i) {
    wanted[places[i]].revents = static_cast<std::uint16_t>(set.ready(i));
  }
  CLOCHE_TRY(call.memory.write_array<GuestPollfd>(address, wanted));
  return static_cast<std::int64_t>(*ready + bad);
}

// --- select ---

// A guest's fd_set: words of 32 bits.
class DescriptorSet {
 public:
  static Result<DescriptorSet> read(const Call& call, std::uint32_t address, std::uint32_t count) {
    DescriptorSet set;
    set.address_ = address;
    if (address == 0) return set;
    CLOCHE_ASSIGN(set.words_,
                  call.memory.read_array<std::uint32_t>(address, (count + 31) / 32, max_words));
    return set;
  }
  bool has(std::uint32_t fd) const {
    return !words_.empty() && (words_[fd / 32] >> (fd % 32) & 1) != 0;
  }
  void clear() { std::ranges::fill(words_, 0U); }
  void add(std::uint32_t fd) { words_[fd / 32] |= 1U << (fd % 32); }
  Result<void> write(const Call& call) const {
    if (address_ == 0) return {};
    return call.memory.write_array<std::uint32_t>(address_, words_);
  }

 private:
  static constexpr std::uint32_t max_words = 1U << 15;
  std::uint32_t address_ = 0;
  std::vector<std::uint32_t> words_;
};

constexpr std::array<PollEvents, 3> select_wanted = {pollin | pollrdnorm | pollrdband,
                                                     pollout | pollwrnorm | pollwrband, pollpri};
// What makes a descriptor of each set ready: an end and an error can be read and written.
constexpr std::array<PollEvents, 3> select_ready = {select_wanted[0] | pollhup | pollerr,
                                                    select_wanted[1] | pollerr, pollpri};

SysResult pselect6(Call& call) REQUIRES(kernel_lock) {
  if (call.i32(0) < 0) return Errno::inval;
  const std::uint32_t count = std::min(call.u32(0), call.process.fds.limit());
  CLOCHE_ASSIGN(const Deadline deadline, read_timeout(call, call.u32(4)));
  std::array<DescriptorSet, 3> sets;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    CLOCHE_ASSIGN(sets[i], DescriptorSet::read(call, call.u32(1 + i), count));
  }
  std::array<std::uint32_t, 2> mask_argument{};  // address and size
  if (call.u32(5) != 0) {
    CLOCHE_ASSIGN(mask_argument, (call.memory.read<std::array<std::uint32_t, 2>>(call.u32(5))));
  }

  PollSet set;
  std::vector<std::uint32_t> fds;
  for (std::uint32_t fd = 0; fd < count; ++fd) {
    PollEvents events = 0;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].has(fd)) events |= select_wanted[i];
    }
    if (events == 0) continue;
    CLOCHE_ASSIGN(FilePtr file, call.process.fds.get(static_cast<std::int32_t>(fd)));
    set.add(std::move(file), events);
    fds.push_back(fd);
  }
  CLOCHE_ASSIGN(TemporaryMask mask, TemporaryMask::set(call, mask_argument[0], mask_argument[1]));
  const Result<std::size_t> waited = set.wait(call.task, deadline);
  if (!waited) return mask.end(waited.error());

  const std::array<DescriptorSet, 3> asked = sets;
  for (DescriptorSet& each : sets) each.clear();
  std::int64_t bits = 0;
  for (std::size_t k = 0; k < fds.size(); ++k) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (!asked[i].has(fds[k]) || (set.ready(k) & select_ready[i]) == 0) continue;
      sets[i].add(fds[k]);
      ++bits;
    }
  }
  for (const DescriptorSet& each : sets) CLOCHE_TRY(each.write(call));
  return bits;
}

// --- epoll ---

struct GuestEpollEvent {
  std::uint32_t events, pad;
  std::uint64_t data;
};
static_assert(sizeof(GuestEpollEvent) == 16);

Result<std::shared_ptr<EpollFile>> epoll_file(const Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  auto epoll = std::dynamic_pointer_cast<EpollFile>(file);
  if (!epoll) return Errno::inval;
  return epoll;
}

SysResult epoll_create1(Call& call) REQUIRES(kernel_lock) {
  if ((call.u32(0) & ~o_cloexec) != 0) return Errno::inval;
  const auto file = std::make_shared<EpollFile>(call.kernel.buffers(), call.kernel.next_file_id());
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(file, call.u32(0)));
  return fd;
}

SysResult epoll_ctl(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t add = 1, remove = 2, modify = 3;
  const std::uint32_t operation = call.u32(1);
  GuestEpollEvent event{};
  if (operation != remove) {
    CLOCHE_ASSIGN(event, call.memory.read<GuestEpollEvent>(call.u32(3)));
  }
  const std::int32_t fd = call.i32(2);
  CLOCHE_TRY(call.process.fds.get(call.i32(0)));
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(fd));
  CLOCHE_ASSIGN(const std::shared_ptr<EpollFile> epoll, epoll_file(call));
  const EpollEvent wanted{event.events, event.data};
  Result<void> done = Errno::inval;
  if (operation == add) done = epoll->add(fd, file, wanted);
  if (operation == modify) done = epoll->modify(fd, file, wanted);
  if (operation == remove) done = epoll->remove(fd, file);
  if (!done) return done.error();
  return 0;
}

SysResult wait_for_events(Call& call, Deadline deadline) REQUIRES(kernel_lock) {
  const std::uint32_t address = call.u32(1);
  const std::int32_t wanted = call.i32(2);
  if (wanted <= 0) return Errno::inval;
  const auto most = std::min<std::size_t>(static_cast<std::size_t>(wanted), EpollFile::max_entries);
  if (!call.memory.holds(address, most * sizeof(GuestEpollEvent)) &&
      !call.memory.holds(address, sizeof(GuestEpollEvent))) {
    return Errno::fault;
  }
  CLOCHE_ASSIGN(const std::shared_ptr<EpollFile> epoll, epoll_file(call));
  CLOCHE_ASSIGN(TemporaryMask mask, TemporaryMask::set(call, call.u32(4), call.u32(5)));
  const Result<std::vector<EpollEvent>> events = epoll->wait(call.task, most, deadline);
  if (!events) return mask.end(events.error());
  std::vector<GuestEpollEvent> out;
  out.reserve(events->size());
  for (const EpollEvent& event : *events) out.push_back({event.events, 0, event.data});
  CLOCHE_TRY(call.memory.write_array<GuestEpollEvent>(address, out));
  return static_cast<std::int64_t>(out.size());
}

SysResult epoll_pwait(Call& call) REQUIRES(kernel_lock) {
  Deadline deadline;
  if (call.i32(3) >= 0)
    deadline = call.kernel.clock().steady() + std::chrono::milliseconds(call.i32(3));
  return wait_for_events(call, deadline);
}

SysResult epoll_pwait2(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Deadline deadline, read_timeout(call, call.u32(3)));
  return wait_for_events(call, deadline);
}

}  // namespace

std::span<const Entry> poll_calls() {
  static constexpr auto calls = std::to_array<Entry>({
      {20, "epoll_create1", 1, epoll_create1},
      {21, "epoll_ctl", 4, epoll_ctl},
      {22, "epoll_pwait", 6, epoll_pwait},
      {413, "pselect6_time64", 6, pselect6},
      {414, "ppoll_time64", 5, ppoll},
      {441, "epoll_pwait2", 6, epoll_pwait2},
  });
  return calls;
}

}  // namespace cloche::kernel::lnx

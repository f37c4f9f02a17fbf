// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/timer_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/files/pipe.h"
#include "kernel/process/task.h"

namespace cloche::kernel {

void TimerFile::advance() {
  const SteadyTime now = time_.steady();
  if (!next_ || now < *next_) return;
  std::uint64_t count = 1;
  if (interval_.count() > 0) {
    count += static_cast<std::uint64_t>((now - *next_) / interval_);
    *next_ += interval_ * static_cast<std::int64_t>(count);
  } else {
    next_.reset();
  }
  expirations_ += count;
  ++edges_;
}

TimerFile::Setting TimerFile::setting() const {
  if (!next_) return {Nanoseconds(0), interval_};
  Nanoseconds left = *next_ - time_.steady();
  if (left.count() <= 0 && interval_.count() > 0) left = interval_ - (-left % interval_);
  return {std::max(left, Nanoseconds(interval_.count() > 0 ? 1 : 0)), interval_};
}

void TimerFile::set(std::optional<SteadyTime> first, Nanoseconds interval) {
  next_ = first;
  interval_ = interval;
  expirations_ = 0;
  changed_.wake_all();
}

Result<std::size_t> TimerFile::read(Task& task, std::span<std::byte> to) {
  if (to.size() < sizeof(expirations_)) return Errno::inval;
  for (;;) {
    advance();
    if (expirations_ != 0) break;
    if (nonblocking()) return Errno::again;
    const Result<void> slept = task.block({&changed_}, next_);
    if (!slept && slept.error() != Errno::timedout) return slept.error();
  }
  const std::uint64_t count = std::exchange(expirations_, 0);
  std::memcpy(to.data(), &count, sizeof(count));
  return sizeof(count);
}

PollEvents TimerFile::poll() {
  advance();
  return expirations_ != 0 ? pollin | pollrdnorm : 0U;
}

void TimerFile::poll_sources(PollSources& sources) {
  advance();
  sources.add(changed_);
  sources.changes += edges_;
  if (!next_) return;
  // One that has expired is ready. Who sleeps all the same waits for something else of it, or for
  // its next edge (EPOLLET); without a pause he would look again and again, the lock held.
  constexpr auto shortest_sleep = std::chrono::microseconds(100);
  sources.add(expirations_ == 0 ? *next_ : std::max(*next_, time_.steady() + shortest_sleep));
}

Result<vfs::Stat> TimerFile::stat() { return anonymous_stat(vfs::FileType::regular, id_); }

}  // namespace cloche::kernel

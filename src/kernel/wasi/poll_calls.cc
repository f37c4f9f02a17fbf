// SPDX-License-Identifier: Apache-2.0
// poll_oneoff: waits until at least one of its subscriptions has something to tell.
#include <algorithm>

#include "kernel/files/poll_set.h"
#include "kernel/kernel.h"
#include "kernel/wasi/wasi_call.h"
#include "kernel/wasi/wasi_clock.h"

namespace cloche::kernel::wasi {
namespace {

// Twice what a process may hold open, for reading and writing, and some clocks.
constexpr std::uint32_t subscriptions_max = 4096;
constexpr std::uint32_t fionread = 0x541b;
constexpr std::uint64_t pipe_buf = 4096;

struct WatchedFile {
  const Subscription* subscription;
  FilePtr file;
};

struct WatchedClock {
  const Subscription* subscription;
  SteadyTime expires;
};

Event event_of(const Subscription& subscription, std::uint16_t error = 0) {
  Event event;
  event.userdata = subscription.userdata;
  event.type = subscription.type;
  event.error = error;
  return event;
}

// Nothing for a moment that the host's clock cannot say: it never comes.
Deadline after(SteadyTime start, std::uint64_t wait_ns) {
  const auto room =
      std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyTime::max() - start).count();
  if (wait_ns > static_cast<std::uint64_t>(room)) return std::nullopt;
  return start + std::chrono::nanoseconds(static_cast<std::int64_t>(wait_ns));
}

// ENOTSUP for CPU clocks: they stand still while one waits.
Result<Deadline> expiry(const Task& task, const Subscription& subscription, SteadyTime start)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::uint64_t now_ns, clock_now_ns(task, subscription.id));
  if (subscription.id > clock_monotonic) return Errno::notsup;
  if ((subscription.flags & subclock_abstime) == 0) return after(start, subscription.timeout_ns);
  return after(start, subscription.timeout_ns - std::min(now_ns, subscription.timeout_ns));
}

// How much can be read now: as FIONREAD says, which for a file is the rest of it.
std::uint64_t readable_bytes(Task& task, File& file) REQUIRES(kernel_lock) {
  std::array<std::byte, sizeof(std::uint32_t)> answer{};
  wasm::GuestMemory memory(answer.data(), answer.size());
  if (!file.ioctl(task, memory, fionread, 0)) return 1;
  const Result<std::uint32_t> bytes = memory.read<std::uint32_t>(0);
  return bytes ? *bytes : 1;
}

class Poll {
 public:
  Poll(Call& call, SteadyTime start) : call_(call), start_(start) {}

  // EINVAL for what is no subscription; what is wrong with a single one becomes its event.
  Result<void> add(const Subscription& subscription) REQUIRES(kernel_lock) {
    if (subscription.type == event_clock) {
      const Result<Deadline> expires = expiry(call_.task, subscription, start_);
      if (!expires) {
        fail(subscription, expires.error());
      } else if (*expires) {
        clocks_.push_back({&subscription, **expires});
        earliest_ = earliest_ ? std::min(*earliest_, **expires) : **expires;
      }
      return {};
    }
    if (subscription.type > event_fd_write) return Errno::inval;
    Result<FilePtr> file = call_.file(subscription.id);
    if (file && ((*file)->flags() & o_path) != 0) file = Errno::badf;
    if (!file) {
      fail(subscription, file.error());
    } else {
      set_.add(*file, subscription.type == event_fd_read ? pollin : pollout);
      files_.push_back({&subscription, *std::move(file)});
    }
    return {};
  }

  // Sleeps until there is an event; EINTR when the guest must do something else.
  Result<std::vector<Event>> wait() REQUIRES(kernel_lock) {
    const Deadline deadline = failed_.empty() ? earliest_ : start_;
    for (;;) {
      const Result<std::size_t> ready = set_.wait(call_.task, deadline);
      if (!ready) {
        if (ready.error() != Errno::restart) return ready.error();
        if (call_.task.attend()) return Errno::intr;
        continue;  // stopped and continued: the deadline stays
      }
      std::vector<Event> events = failed_;
      for (std::size_t i = 0; i < files_.size(); ++i)
        add_file_event(files_[i], set_.ready(i), events);
      const SteadyTime now = call_.task.kernel().clock().steady();
      for (const WatchedClock& clock : clocks_) {
        if (now >= clock.expires) events.push_back(event_of(*clock.subscription));
      }
      if (!events.empty()) return events;
    }
  }

 private:
  void fail(const Subscription& subscription, Errno error) {
    failed_.push_back(event_of(subscription, errno_info(error).wasi));
  }

  void add_file_event(const WatchedFile& one, PollEvents ready, std::vector<Event>& events) const
      REQUIRES(kernel_lock) {
    if (ready == 0) return;
    const bool reading = one.subscription->type == event_fd_read;
    Event event = event_of(*one.subscription);
    if ((ready & pollhup) != 0) event.flags = eventrw_hangup;
    if (reading) {
      event.nbytes = (ready & pollin) != 0 ? readable_bytes(call_.task, *one.file) : 0;
    } else if ((ready & pollerr) != 0) {
      // Nobody reads any more.
      event.error = errno_info(Errno::pipe).wasi;
      event.flags = eventrw_hangup;
    } else {
      event.nbytes = pipe_buf;
    }
    events.push_back(event);
  }

  Call& call_;
  SteadyTime start_;
  PollSet set_;  // of files_, in their order
  std::vector<WatchedFile> files_;
  std::vector<WatchedClock> clocks_;
  Deadline earliest_;
  std::vector<Event> failed_;
};

Result<void> poll_oneoff(Call& call, std::uint32_t in, std::uint32_t out, std::uint32_t count,
                         std::uint32_t count_out) REQUIRES(kernel_lock) {
  if (count == 0) return Errno::inval;
  CLOCHE_ASSIGN(const std::vector<Subscription> subscriptions,
                call.memory.read_array<Subscription>(in, count, subscriptions_max));
  if (!call.memory.holds(out, std::uint64_t{count} * sizeof(Event))) return Errno::fault;
  CLOCHE_TRY(call.check_out<std::uint32_t>(count_out));
  Poll poll(call, call.task.kernel().clock().steady());
  for (const Subscription& subscription : subscriptions) CLOCHE_TRY(poll.add(subscription));
  CLOCHE_ASSIGN(const std::vector<Event> events, poll.wait());
  CLOCHE_TRY(call.memory.write_array(out, std::span<const Event>(events)));
  return call.memory.write(count_out, static_cast<std::uint32_t>(events.size()));
}

}  // namespace

Functions poll_calls() { return {function<"poll_oneoff", poll_oneoff>()}; }

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/edge_watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/thread_name.h"

namespace cloche::sandbox {
namespace {

constexpr std::uint64_t end_id = 0;

bool watch_for(int events, int fd, std::uint32_t what, std::uint64_t id) {
  epoll_event event{};
  event.events = what;
  event.data.u64 = id;
  return ::epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

EdgeWatch::~EdgeWatch() {
  if (!thread_.joinable()) return;
  (void)::eventfd_write(end_.get(), 1);
  thread_.join();
}

Result<void> EdgeWatch::begin() {
  if (events_) return {};
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd end(::eventfd(0, EFD_CLOEXEC));
  if (!events || !end || !watch_for(events.get(), end.get(), EPOLLIN, end_id))
    return errno_from_host(errno);
  waits_on_ = events.get();
  end_ = std::move(end);
  try {
    thread_ = std::thread(with_name("cloche-edges", [this] { run(); }));
  } catch (const std::system_error&) {
    return Errno::again;
  }
  events_ = std::move(events);
  return {};
}

Result<std::unique_ptr<EdgeWatch::Watched>> EdgeWatch::add(int fd, std::function<void()> changed) {
  const MutexLock lock(mutex_);
  CLOCHE_TRY(begin());
  const std::uint64_t id = ++last_;
  if (!watch_for(events_.get(), fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, id))
    return errno_from_host(errno);
  entries_.emplace(id, Entry{fd, std::move(changed)});
  return std::make_unique<Watched>(*this, id);
}

void EdgeWatch::remove(std::uint64_t id) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  entries_.erase(found);
}

void EdgeWatch::run() {
  for (;;) {
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(waits_on_, events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      if (id == end_id) return;
      const MutexLock lock(mutex_);
      const auto found = entries_.find(id);
      if (found != entries_.end()) found->second.changed();
    }
  }
}

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "native/warden/spaces.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "native/warden/identity.h"

namespace cloche::warden {
namespace {

bool take_identity(const MakeBox& plan, uid_t outer_user, gid_t outer_group) {
  const bool has_keeper = plan.isolation == Isolation::gvisor;
  return map_identity(has_keeper ? keeper_user : plan.user, has_keeper ? keeper_user : plan.group,
                      outer_user, outer_group);
}

bool raise_loopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return false;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

Spaces::Spaces() noexcept {
  void* const memory =
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) told_ = new (memory) Told;
}

// gVisor has namespaces below its own, which boxes have given up for good.
Spaces::Place* Spaces::longest_at_rest(const MakeBox& plan) noexcept {
  Place* found = nullptr;
  if (plan.isolation == Isolation::gvisor) return found;
  for (Place& place : places_) {
    if (!place.network || place.pid != 0 || place.inner_user != plan.user ||
        place.inner_group != plan.group)
      continue;
    if (found == nullptr || place.number < found->number) found = &place;
  }
  return found;
}

Spaces::Place* Spaces::free_place() noexcept {
  const auto found =
      std::ranges::find_if(places_, [](const Place& place) { return !place.network; });
  return found == places_.end() ? nullptr : &*found;
}

bool Spaces::forget_resting() noexcept {
  bool found = false;
  for (Place& place : places_) {
    if (!place.network || place.pid != 0) continue;
    place = {};
    found = true;
  }
  return found;
}

Spaces::Started Spaces::start(const MakeBox& plan, int group, Begin begin, void* what) noexcept {
  Started started;
  if (told_ == nullptr) {
    started.outcome = {Step::namespaces, ENOMEM};
    return started;
  }
  const bool may_be_lent = plan.mounts == 0 && plan.isolation == Isolation::full;
  for (;;) {
    Place* place = longest_at_rest(plan);
    const bool is_resting = place != nullptr;
    if (!is_resting) place = free_place();
    Place none;
    if (place == nullptr) place = &none;
    const bool is_kept = may_be_lent && place != &none;
    const bool has_started = try_start(plan, group, *place, is_kept && !is_resting, begin, what);
    if (has_started) {
      started.pid = told_->pid;
      started.pidfd.reset(told_->pidfd);
      if (!is_resting) {
        place->user.reset(told_->user);
        place->network.reset(told_->network);
        place->inner_user = plan.user;
        place->inner_group = plan.group;
      }
      if (is_kept && place->user && place->network) {
        place->pid = started.pid;
      } else {
        *place = {};
      }
      return started;
    }
    // What has changed is not used again, nor what could not be entered. In case it is this kernel
    // that has changed, the next new one is what others are compared with.
    if (is_resting) {
      *place = {};
      told_->first_day.forget();
      continue;
    }
    started.outcome = told_->outcome;
    if (!forget_resting()) return started;  // others count for the limits of this user
  }
}

// By a process that has this one's descriptors and little else: it goes where this one cannot, has
// the box there as this one's child, and ends. False: there is none, and `told_` says why.
bool Spaces::try_start(const MakeBox& plan, int group, const Place& place, bool is_kept,
                       Begin begin, void* what) noexcept {
  told_->pid = 0;
  told_->pidfd = told_->user = told_->network = -1;
  told_->has_changed = false;
  told_->outcome = {};
  clone_args how{};
  how.flags = CLONE_FILES | CLONE_VFORK;
  how.exit_signal = SIGCHLD;
  const long between = ::syscall(SYS_clone3, &how, sizeof how);
  if (between < 0) {
    told_->outcome = {Step::namespaces, errno};
    return false;
  }
  if (between > 0) {
    while (::waitpid(static_cast<pid_t>(between), nullptr, 0) < 0 && errno == EINTR) continue;
    if (told_->pid > 0) return true;
    if (told_->outcome && !told_->has_changed) told_->outcome = {Step::namespaces, EAGAIN};
    for (const int fd : {told_->user, told_->network}) {
      if (fd >= 0) ::close(fd);
    }
    return false;
  }
  if (place.network) {
    stand_in(place);
  } else {
    stand_in_new(plan, is_kept);
  }
  how = {};
  int pidfd = -1;
  how.flags = CLONE_PARENT | CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
              CLONE_NEWUTS | CLONE_NEWCGROUP;
  how.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  if (group >= 0) {
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<std::uint64_t>(group);
  }
  const long pid = ::syscall(SYS_clone3, &how, sizeof how);
  if (pid == 0) {
    ::munmap(told_, sizeof *told_);  // a box shares nothing with the warden
    told_ = nullptr;
    begin(what);
  }
  leave_unless(pid > 0, Step::namespaces);
  told_->pidfd = pidfd;
  told_->pid = static_cast<pid_t>(pid);
  ::_exit(0);
}

void Spaces::leave_unless(bool is_well, Step step) noexcept {
  if (is_well) return;
  told_->outcome = {step, errno};
  ::_exit(1);
}

void Spaces::stand_in(const Place& place) noexcept {
  leave_unless(::setns(place.user.get(), CLONE_NEWUSER) == 0, Step::namespaces);
  leave_unless(::setns(place.network.get(), CLONE_NEWNET) == 0, Step::namespaces);
  if (told_->today.take() && told_->today.is_like(told_->first_day)) return;
  told_->has_changed = true;
  ::_exit(1);
}

void Spaces::stand_in_new(const MakeBox& plan, bool is_kept) noexcept {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  leave_unless(::unshare(CLONE_NEWUSER) == 0, Step::namespaces);
  leave_unless(take_identity(plan, user, group), Step::identity);
  leave_unless(::unshare(CLONE_NEWNET) == 0, Step::namespaces);
  leave_unless(raise_loopback(), Step::loopback);
  if (!is_kept || !NetworkTrace::calm()) return;
  if (told_->first_day.is_empty() && !told_->first_day.take()) return;
  told_->user = ::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  told_->network = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

void Spaces::end(pid_t pid) noexcept {
  const auto ended =
      std::ranges::find_if(places_, [pid](const Place& place) { return place.pid == pid; });
  if (pid <= 0 || ended == places_.end()) return;
  ended->pid = 0;
  ended->number = ++ended_;
  Place* longest = nullptr;
  std::size_t count = 0;
  for (Place& place : places_) {
    if (!place.network || place.pid != 0) continue;
    ++count;
    if (longest == nullptr || place.number < longest->number) longest = &place;
  }
  if (count > most_resting) *longest = {};
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
#include "native/warden/box.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "native/warden/init.h"
#include "native/warden/packet.h"
#include "native/warden/root.h"

namespace cloche::warden {
namespace {

constexpr std::uint32_t own_processes = 2;  // pid 1 and the file server count, too
constexpr rlim_t own_open_files = 4096;

bool write_text(const char* path, const char* text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(std::strlen(text));
  return file && ::write(file.get(), text, static_cast<std::size_t>(size)) == size;
}

// Whoever runs Cloche is this user and this group inside, and nobody else is anybody.
Outcome take_identity(const MakeBox& plan, uid_t outer_user, gid_t outer_group) {
  std::array<char, 64> line{};
  if (!write_text("/proc/self/setgroups", "deny")) return {Step::identity, errno};
  std::snprintf(line.data(), line.size(), "%u %u 1", plan.user, outer_user);
  if (!write_text("/proc/self/uid_map", line.data())) return {Step::identity, errno};
  std::snprintf(line.data(), line.size(), "%u %u 1", plan.group, outer_group);
  if (!write_text("/proc/self/gid_map", line.data())) return {Step::identity, errno};
  return {};
}

Outcome raise_loopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  CLOCHE_STEP(Step::loopback, socket.get());
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return outcome_of(Step::loopback, ::ioctl(socket.get(), SIOCSIFFLAGS, &request));
}

// Nothing is open in a box but what it is made of.
bool keep_only(BoxParts& parts) {
  constexpr int first = 3;
  std::array<Fd*, 4 + most_mounts> kept{&parts.socket, &parts.image, &parts.begin_with,
                                        &parts.mounts.orders};
  for (std::size_t i = 0; i < most_mounts; ++i) kept[4 + i] = &parts.mounts.trees[i];
  for (Fd* fd : kept) {  // away from the numbers that they get
    if (!*fd) continue;
    const int away = ::fcntl(fd->get(), F_DUPFD_CLOEXEC, first + static_cast<int>(kept.size()));
    if (away < 0) return false;
    fd->reset(away);
  }
  int next = first;
  for (Fd* fd : kept) {
    if (!*fd) continue;
    if (::dup3(fd->get(), next, O_CLOEXEC) < 0) return false;
    fd->reset(next++);
  }
  return ::close_range(static_cast<unsigned>(next), ~0U, 0) == 0;
}

Outcome build(const MakeBox& plan, BoxParts& parts, uid_t outer_user, gid_t outer_group,
              Fd& changes, std::uint32_t& mount) {
  if (!keep_only(parts)) return {Step::identity, errno};
  // Of this mount namespace: the working directory came along, a descriptor does not.
  parts.image.reset(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::overlay, parts.image.get());
  if (auto taken = take_identity(plan, outer_user, outer_group); !taken) return taken;
  const RootPlan root{.image = parts.image.get(),
                      .begin_with = parts.begin_with.get(),
                      .kind = plan.root,
                      .file_bytes = plan.file_bytes,
                      .file_inodes = plan.file_inodes};
  rlimit files{};
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min(own_open_files, files.rlim_max);
  CLOCHE_STEP(Step::limits, ::setrlimit(RLIMIT_NOFILE, &files));
  ::umask(0);
  if (auto found = find_mounts(parts.mounts, mount); !found) return found;
  if (auto entered = enter_root(root, changes); !entered) return entered;
  ::umask(022);
  if (auto placed = place_mounts(parts.mounts, mount); !placed) return placed;
  parts.image.reset();
  parts.begin_with.reset();
  if (auto raised = raise_loopback(); !raised) return raised;
  return outcome_of(
      Step::namespaces,
      ::sethostname(plan.host_name, ::strnlen(plan.host_name, sizeof plan.host_name)));
}

[[noreturn]] void be_box(const MakeBox& plan, BoxParts parts, uid_t outer_user,
                         gid_t outer_group) noexcept {
  // With the warden, at the latest; and when the socket is closed.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  Fd changes;
  BoxReady ready;
  const Outcome built = build(plan, parts, outer_user, outer_group, changes, ready.mount);
  ready.failed = built.failed;
  ready.error = built.error;
  if (built) {
    // What the guest may not look into is this process, which keeps privileges of its namespaces.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
      ready.failed = Step::privileges, ready.error = errno;
    ready.has_landlock_scopes = enter_landlock();
  }
  // The machine ends guests first when it runs out of memory.
  (void)write_text("/proc/self/oom_score_adj", "500");
  if (!send_record(parts.socket.get(), ready) || ready.failed != Step::none) ::_exit(1);
  static Init init({.socket = std::move(parts.socket),
                    .changes = std::move(changes),
                    .memory_bytes = plan.memory_bytes,
                    .wall = {.processes = plan.process_limit + own_processes,
                             .open_files = plan.open_file_limit,
                             .keeps_set_id = plan.keeps_set_id}});
  init.serve();
  ::_exit(0);
}

}  // namespace

pid_t make_box(const MakeBox& plan, BoxParts parts, Fd& pidfd) noexcept {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  int made = -1;
  if (::fchdir(parts.image.get()) != 0) return -1;
  clone_args how{};
  how.flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
              CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;
  how.pidfd = reinterpret_cast<std::uint64_t>(&made);
  how.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &how, sizeof how);
  if (pid == 0) be_box(plan, std::move(parts), user, group);
  if (pid > 0) pidfd.reset(made);
  (void)!::chdir("/");
  return static_cast<pid_t>(pid);
}

}  // namespace cloche::warden

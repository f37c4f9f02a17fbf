// SPDX-License-Identifier: Apache-2.0
#include "native/warden/inside.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "native/warden/fd.h"
#include "native/warden/home.h"
#include "native/warden/init.h"
#include "native/warden/outcome.h"
#include "native/warden/packet.h"
#include "native/warden/root.h"
#include "native/warden/wire.h"
#include "native/warden/write_text.h"

namespace cloche::warden {
namespace {

constexpr int own_socket = 3;
constexpr std::array inside_devices{"null", "zero", "full", "random", "urandom", "tty"};

// The folder of changes, with its quota, and over the image.
Outcome make_inside_storage(const MakeBox& plan, NewRoot& made) {
  std::array<char, 128> limits{};
  std::snprintf(limits.data(), limits.size(), "size=%llu,nr_inodes=%llu,mode=0755",
                static_cast<unsigned long long>(plan.file_bytes),
                static_cast<unsigned long long>(plan.file_inodes));
  CLOCHE_STEP(Step::storage, ::mount("none", "/storage", "tmpfs", MS_NODEV, limits.data()));
  for (const char* name : {"/storage/upper", "/storage/work", "/storage/shm"})
    CLOCHE_STEP(Step::storage, ::mkdir(name, 0755));
  CLOCHE_STEP(Step::storage, ::chmod("/storage/shm", 01777));
  made.changes.reset(::open("/storage/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::storage, made.changes.get());
  CLOCHE_STEP(Step::overlay,
              ::mount("none", "/system", "overlay", MS_NODEV,
                      "lowerdir=/image,upperdir=/storage/upper,workdir=/storage/work,userxattr"));
  const Fd root(::open("/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::overlay, root.get());
  return make_places(root);
}

Outcome make_dev() {
  CLOCHE_STEP(Step::devices, ::mount("none", "/system/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
                                     "size=64k,nr_inodes=64,mode=0755"));
  for (const char* name : {"/system/dev/shm", "/system/dev/pts"})
    CLOCHE_STEP(Step::devices, ::mkdir(name, 0755));
  for (const auto& [target, name] : device_links) {
    const Fd dev(::open("/system/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CLOCHE_STEP(Step::devices, ::symlinkat(target, dev.get(), name));
  }
  for (const char* name : inside_devices) {
    std::array<char, 32> from{}, to{};
    std::snprintf(from.data(), from.size(), "/dev/%s", name);
    std::snprintf(to.data(), to.size(), "/system/dev/%s", name);
    const Fd place(::open(to.data(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    CLOCHE_STEP(Step::devices, place.get());
    CLOCHE_STEP(Step::devices, ::mount(from.data(), to.data(), nullptr, MS_BIND, nullptr));
  }
  CLOCHE_STEP(Step::devices, ::mount("/storage/shm", "/system/dev/shm", nullptr, MS_BIND, nullptr));
  return outcome_of(Step::devices, ::mount("none", "/system/dev/pts", "devpts",
                                           MS_NOSUID | MS_NOEXEC, "ptmxmode=0666,mode=0620"));
}

// gVisor knows RLIMIT_NPROC and does not hold it; it holds the limit of a control group of its own.
Outcome make_group(const MakeBox& plan, BoxGroup& group) {
  CLOCHE_STEP(Step::groups, ::mount("none", "/groups", "cgroup2", 0, nullptr));
  CLOCHE_STEP(Step::groups, write_text("/groups/cgroup.subtree_control", "+pids") ? 0 : -1);
  CLOCHE_STEP(Step::groups, ::mkdir("/groups/box", 0755));
  const Fd folder(::open("/groups/box", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::groups, folder.get());
  group = BoxGroup(folder);
  CLOCHE_STEP(Step::groups, group.holds_processes() ? 0 : -1);
  CLOCHE_STEP(Step::groups, write_text("/groups/box/cgroup.procs", "0") ? 0 : -1);
  return outcome_of(Step::groups,
                    group.limit({.processes = plan.process_limit + own_processes}) ? 0 : -1);
}

Outcome enter_inside(const MakeBox& plan, NewRoot& made, BoxGroup& group) {
  if (auto grouped = make_group(plan, group); !grouped) return grouped;
  if (auto stored = make_inside_storage(plan, made); !stored) return stored;
  CLOCHE_STEP(Step::proc,
              ::mount("none", "/system/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
  // Its settings are read-only.
  constexpr const char* settings = "/system/proc/sys";
  CLOCHE_STEP(Step::proc, ::mount(settings, settings, nullptr, MS_BIND, nullptr));
  CLOCHE_STEP(Step::proc,
              ::mount("none", settings, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr));
  if (auto filled = make_dev(); !filled) return filled;
  CLOCHE_STEP(Step::pivot, ::chdir("/system"));
  CLOCHE_STEP(Step::pivot, ::syscall(SYS_pivot_root, ".", "."));
  CLOCHE_STEP(Step::pivot, ::umount2(".", MNT_DETACH));
  return outcome_of(Step::pivot, ::chdir("/"));
}

}  // namespace

int serve_inside() noexcept {
  Fd socket(own_socket);
  (void)::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  if (::close_range(own_socket + 1, ~0U, 0) != 0) return 1;
  // By which a user who is not root has got here with privileges; nobody else does.
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return 1;
  static MakeBox plan;
  {
    const Fd file(::open("/plan", O_RDONLY | O_CLOEXEC));
    if (!file || ::read(file.get(), &plan, sizeof plan) != static_cast<ssize_t>(sizeof plan))
      return 1;
  }
  NewRoot root;
  BoxGroup group;
  ::umask(0);
  Outcome built = enter_inside(plan, root, group);
  ::umask(022);
  if (built)
    built =
        outcome_of(Step::namespaces, ::sethostname(plan.host_name, std::strlen(plan.host_name)));
  BoxReady ready{.failed = built.failed, .error = built.error};
  if (built) {
    ready.home = make_home(plan.home);
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
      ready.failed = Step::privileges, ready.error = errno;
  }
  if (!send_record(socket.get(), ready) || ready.failed != Step::none) return 1;
  static const Filter filter(Isolation::gvisor);
  static Init init({.socket = std::move(socket),
                    .group = std::move(group),
                    .changes = std::move(root.changes),
                    .storage = Fd(),
                    .score = Fd(),
                    .memory_bytes = plan.memory_bytes,
                    .isolation = Isolation::gvisor,
                    .wall = {.processes = plan.process_limit + own_processes,
                             .open_files = plan.open_file_limit,
                             .isolation = Isolation::gvisor}},
                   filter);
  init.serve();
  return 0;
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
#include "native/warden/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "native/warden/entries.h"
#include "native/warden/mount_calls.h"
#include "native/warden/proc_text.h"
#include "native/warden/tree_copy.h"

namespace cloche::warden {
namespace {

struct Device {
  const char* name;
  const char* of_host;
};
// What is mapped of the host's "zero" is memory of no process, and counts for no quota; "full" is
// read in the same way.
constexpr std::array devices_of_box{
    Device{"null", "/dev/null"},     Device{"zero", "/dev/full"},       Device{"full", "/dev/full"},
    Device{"random", "/dev/random"}, Device{"urandom", "/dev/urandom"}, Device{"tty", "/dev/tty"}};
// Of the machine, not of the box; the kernel would refuse most of them to the box's root anyway.
// Who reads of locks, of which there are as many as he likes, keeps the whole machine from its own.
// What programs read to know how busy their machine is (stat, meminfo, loadavg, uptime, vmstat) stays.
constexpr std::array hidden_files{
    "/proc/kcore",      "/proc/keys",      "/proc/kallsyms",      "/proc/sysrq-trigger",
    "/proc/timer_list", "/proc/cmdline",   "/proc/interrupts",    "/proc/softirqs",
    "/proc/locks",      "/proc/diskstats", "/proc/latency_stats", "/proc/partitions",
    "/proc/modules",    "/proc/schedstat", "/proc/sched_debug",   "/proc/timer_stats"};
constexpr std::array hidden_folders{"/proc/acpi", "/proc/asound", "/proc/bus",      "/proc/driver",
                                    "/proc/fs",   "/proc/irq",    "/proc/pressure", "/proc/scsi"};

// The file system in memory that holds all that a box changes.
Outcome make_storage(const RootPlan& plan, Fd& storage) {
  const NumberText bytes = text_of(plan.file_bytes), inodes = text_of(plan.file_inodes);
  storage.reset(make_mount("tmpfs",
                           {{"size", bytes.data()}, {"nr_inodes", inodes.data()}, {"mode", "0755"}},
                           MOUNT_ATTR_NODEV));
  CLOCHE_STEP(Step::storage, storage.get());
  // Somewhere in this mount namespace, or an older kernel puts no overlay on it.
  CLOCHE_STEP(Step::storage, put_at(storage, "/tmp"));
  for (const char* name : {"upper", "work"})
    CLOCHE_STEP(Step::storage, ::mkdirat(storage.get(), name, 0755));
  // Whatever the umask is.
  CLOCHE_STEP(Step::storage, ::mkdirat(storage.get(), "shm", 0));
  return outcome_of(Step::storage, ::fchmodat(storage.get(), "shm", 01777, 0));
}

Outcome make_overlay(int image, const Fd& storage, Fd& root) {
  const Fd context(::fsopen("overlay", FSOPEN_CLOEXEC));
  CLOCHE_STEP(Step::overlay, context.get());
  const Fd upper(::openat(storage.get(), "upper", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd work(::openat(storage.get(), "work", O_PATH | O_DIRECTORY | O_CLOEXEC));
  // By descriptors: paths would be seen in /proc/self/mountinfo.
  const auto set = [&](const char* name, int folder) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", folder);
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, name, path.data(), 0);
  };
  CLOCHE_STEP(Step::overlay, set("lowerdir", image));
  CLOCHE_STEP(Step::overlay, set("upperdir", upper.get()));
  CLOCHE_STEP(Step::overlay, set("workdir", work.get()));
  CLOCHE_STEP(Step::overlay, ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "userxattr", nullptr, 0));
  CLOCHE_STEP(Step::overlay, ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0));
  root.reset(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV));
  return outcome_of(Step::overlay, root.get());
}

// /dev: the harmless devices of the host, terminals of the box's own, and shared memory that counts
// for the quota.
Outcome fill_dev(const std::array<Fd, devices_of_box.size()>& devices, const Fd& shared_memory) {
  const Fd dev(make_mount("tmpfs", {{"size", "64k"}, {"nr_inodes", "64"}, {"mode", "0755"}},
                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  CLOCHE_STEP(Step::devices, dev.get());
  for (const Device& device : devices_of_box) {
    const Fd place(::openat(dev.get(), device.name, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    CLOCHE_STEP(Step::devices, place.get());
  }
  for (const char* name : {"shm", "pts"})
    CLOCHE_STEP(Step::devices, ::mkdirat(dev.get(), name, 0755));
  for (const auto& [target, name] : device_links)
    CLOCHE_STEP(Step::devices, ::symlinkat(target, dev.get(), name));
  CLOCHE_STEP(Step::devices, put_at(dev, "/dev"));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/dev/%s", devices_of_box[i].name);
    CLOCHE_STEP(Step::devices, put_at(devices[i], path.data()));
  }
  CLOCHE_STEP(Step::devices, put_at(shared_memory, "/dev/shm"));
  const Fd terminals(make_mount("devpts", {{"ptmxmode", "0666"}, {"mode", "0620"}, {"max", "64"}},
                                MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  CLOCHE_STEP(Step::devices, terminals.get());
  return outcome_of(Step::devices, put_at(terminals, "/dev/pts"));
}

// Puts `nothing` over those of the paths that this kernel has: the first gets it, others one like it.
template <typename Paths>
Outcome hide(const Paths& paths, Fd nothing) {
  CLOCHE_STEP(Step::proc, nothing.get());
  const char* first = nullptr;
  for (const char* path : paths) {
    if (!nothing) nothing = clone_tree(AT_FDCWD, first);
    CLOCHE_STEP(Step::proc, nothing.get());
    if (put_at(nothing, path) == 0) {
      nothing.reset();
      first = path;
    } else if (errno != ENOENT) {
      return {Step::proc, errno};
    }
  }
  return {};
}

// What of /proc is the machine's is hidden, its settings are read-only.
Outcome close_proc() {
  const Fd settings = clone_tree(AT_FDCWD, "/proc/sys");
  CLOCHE_STEP(Step::proc, settings.get());
  CLOCHE_STEP(Step::proc, protect(settings, MOUNT_ATTR_RDONLY));
  CLOCHE_STEP(Step::proc, put_at(settings, "/proc/sys"));
  if (auto hidden = hide(hidden_files, clone_tree(AT_FDCWD, "/dev/null")); !hidden) return hidden;
  return hide(hidden_folders,
              Fd(make_mount("tmpfs", {{"size", "4k"}, {"nr_inodes", "1"}},
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
}

// Of what the machine lets a user have, an eighth within these bounds; the most where nobody tells.
NumberText share_of(const char* path, std::uint64_t least, std::uint64_t most) {
  constexpr std::uint64_t parts = 8;
  std::array<char, 32> text{};
  const auto all = number_after<std::uint64_t>(read_text(path, text), "").value_or(parts * most);
  return text_of(std::clamp(all / parts, least, most));
}

// Written once, while /proc/sys can be: ports below 1024 need no privilege in a network of one's
// own, a box makes no further user namespaces, System V's memory goes with the processes that have
// it, its semaphores and queues are few (a set of them can take 2 MB of the kernel's memory), what
// watches files leaves some to others, connections are asked for by connect alone, keep megabytes and
// not tens of them, and those that have ended are forgotten, for nothing of them is under way on a
// loopback. A kernel that refuses one has the filter, the limit of memory, and no way out of the box's
// network.
void set_kernel() {
  const NumberText received = text_of(most_received), to_send = text_of(most_to_send);
  std::array<char, 64> receives{}, sends{};
  std::snprintf(receives.data(), receives.size(), "4096 131072 %s", received.data());
  std::snprintf(sends.data(), sends.size(), "4096 16384 %s", to_send.data());
  // What all boxes of a user have together, of which no few of them take all.
  const NumberText watching = share_of("/proc/sys/fs/inotify/max_user_instances", 16, 64),
                   watches = share_of("/proc/sys/fs/inotify/max_user_watches", 4096, 32'768);
  const std::array<MountSetting, 12> settings{
      {{"/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"},
       {"/proc/sys/user/max_user_namespaces", "0"},
       {"/proc/sys/user/max_inotify_instances", watching.data()},
       {"/proc/sys/user/max_inotify_watches", watches.data()},
       {"/proc/sys/kernel/shm_rmid_forced", "1"},
       {"/proc/sys/kernel/sem", "250 32000 100 128"},
       {"/proc/sys/kernel/msgmni", "64"},
       {"/proc/sys/kernel/msgmnb", "16384"},
       {"/proc/sys/net/ipv4/tcp_fastopen", "0"},
       {"/proc/sys/net/ipv4/tcp_rmem", receives.data()},
       {"/proc/sys/net/ipv4/tcp_wmem", sends.data()},
       {"/proc/sys/net/ipv4/tcp_max_tw_buckets", "8"}}};
  for (const auto& [path, value] : settings) {
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (file) (void)!::write(file.get(), value, std::strlen(value));
  }
}

}  // namespace

Outcome make_places(const Fd& root) {
  struct Folder {
    const char* name;
    mode_t mode;
  };
  for (const auto& [name, mode] : {Folder{"proc", 0755}, Folder{"dev", 0755}, Folder{"sys", 0755},
                                   Folder{"tmp", 01777}, Folder{"workspace", 0755}}) {
    if (::mkdirat(root.get(), name, 0) != 0) {
      if (errno == EEXIST) continue;
      return {Step::storage, errno};
    }
    CLOCHE_STEP(Step::storage, ::fchmodat(root.get(), name, mode, 0));
  }
  return {};
}

Outcome enter_root(const RootPlan& plan, NewRoot& made_root) {
  CLOCHE_STEP(Step::propagation, ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  auto& [changes, storage] = made_root;
  if (auto made = make_storage(plan, storage); !made) return made;
  changes.reset(::openat(storage.get(), "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::storage, changes.get());
  Fd root;
  if (plan.kind == Root::copy) {
    if (auto copied = copy_tree(plan.image, changes.get()); !copied) return copied;
  }
  if (plan.begin_with >= 0) {
    if (auto copied = copy_tree(plan.begin_with, changes.get()); !copied) return copied;
  }
  if (plan.kind == Root::copy) {
    root = clone_tree(storage.get(), "upper");
    CLOCHE_STEP(Step::storage, root.get());
  } else if (auto made = make_overlay(plan.image, storage, root); !made) {
    return made;
  }
  Fd shared_memory = clone_tree(storage.get(), "shm");
  CLOCHE_STEP(Step::storage, shared_memory.get());
  CLOCHE_STEP(Step::storage, protect(shared_memory, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (auto made = make_places(root); !made) return made;
  // While a whole /proc is seen, or a new one is refused.
  Fd proc(make_mount("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  CLOCHE_STEP(Step::proc, proc.get());
  std::array<Fd, devices_of_box.size()> devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i] = clone_tree(AT_FDCWD, devices_of_box[i].of_host);
    CLOCHE_STEP(Step::devices, devices[i].get());
  }
  CLOCHE_STEP(Step::pivot, put_at(root, "/tmp"));
  CLOCHE_STEP(Step::pivot, ::fchdir(root.get()));
  CLOCHE_STEP(Step::pivot, ::syscall(SYS_pivot_root, ".", "."));
  CLOCHE_STEP(Step::pivot, ::umount2(".", MNT_DETACH));
  CLOCHE_STEP(Step::pivot, ::chdir("/"));
  CLOCHE_STEP(Step::proc, put_at(proc, "/proc"));
  set_kernel();
  if (auto filled = fill_dev(devices, shared_memory); !filled) return filled;
  return close_proc();
}

bool is_as_image(const Fd& changes) noexcept {
  constexpr std::array<std::string_view, 7> usual{".",   "..",  "proc",     "dev",
                                                  "sys", "tmp", "workspace"};
  for (const char* name : {"tmp/.local", "workspace/.local"}) {
    if (::faccessat(changes.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
      return false;
  }
  for (const char* name : {"tmp", "workspace"}) {  // another folder, or none at all, in its place
    struct stat of{};
    const bool is_there = ::fstatat(changes.get(), name, &of, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there ? !S_ISDIR(of.st_mode) : errno != ENOENT) return false;
  }
  DIR* const folder = entries_of(::openat(changes.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder == nullptr) return false;
  bool is_as_it_was = true;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::ranges::find(usual, std::string_view(entry->d_name)) == usual.end())
      is_as_it_was = false;
  }
  ::closedir(folder);
  return is_as_it_was;
}

Outcome resize_storage(const Fd& storage, std::uint64_t bytes, std::uint64_t inodes) {
  const Fd context(::fspick(storage.get(), "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
  CLOCHE_STEP(Step::storage, context.get());
  const auto set = [&](const char* name, std::uint64_t number) {
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, name, text_of(number).data(), 0);
  };
  CLOCHE_STEP(Step::storage, set("size", bytes));
  CLOCHE_STEP(Step::storage, set("nr_inodes", inodes));
  return outcome_of(Step::storage,
                    ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0));
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
#include "native/warden/keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "native/warden/command.h"
#include "native/warden/inside.h"
#include "native/warden/mount_calls.h"
#include "native/warden/outcome.h"
#include "native/warden/packet.h"
#include "native/warden/processes.h"
#include "native/warden/wall.h"

namespace cloche::warden {
namespace {

constexpr int socket_number = 3;
constexpr std::array keeper_devices{"null", "zero", "full", "random", "urandom"};
// Of gVisor's own: threads of its kernel, and one for each of a guest's with two of its process.
constexpr rlim_t gvisor_threads = 512, threads_of_one = 4;
constexpr int first_look_ms = 20, longest_look_ms = 320;

bool put_file(int folder, const char* name, std::string_view text) {
  const Fd file(::openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool copy_own_program(int folder) {
  const Fd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const Fd copy(::openat(folder, inside_program, O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
  struct stat of{};
  if (!own || !copy || ::fstat(own.get(), &of) != 0) return false;
  for (off_t left = of.st_size; left > 0;) {
    const ssize_t done = ::sendfile(copy.get(), own.get(), nullptr, static_cast<std::size_t>(left));
    if (done <= 0) return false;
    left -= done;
  }
  return true;
}

// As the runtime specification of OCI has it. Pid 1 behind gVisor has the privileges of its
// namespaces there, which are none of this kernel's.
std::string bundle(const MakeBox& plan) {
  std::array<char, 64> identity{};
  std::snprintf(identity.data(), identity.size(), "{\"uid\":%u,\"gid\":%u}", plan.user, plan.group);
  std::string capabilities;
  for (const char* name :
       {"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "MKNOD", "SETGID",
        "SETPCAP", "SETUID", "SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE", "SYS_RESOURCE"})
    capabilities += std::string(capabilities.empty() ? "" : ",") + "\"CAP_" + name + "\"";
  std::string sets;
  for (const char* set : {"ambient", "bounding", "effective", "inheritable", "permitted"})
    sets += std::string(sets.empty() ? "" : ",") + "\"" + set + "\":[" + capabilities + "]";
  std::array<char, 256> users{};
  std::snprintf(users.data(), users.size(),
                "\"uidMappings\":[{\"containerID\":%u,\"hostID\":%u,\"size\":1}],"
                "\"gidMappings\":[{\"containerID\":%u,\"hostID\":%u,\"size\":1}]",
                plan.user, keeper_user, plan.group, keeper_user);
  return std::string("{\"ociVersion\":\"1.0.0\",\"process\":{\"user\":") + identity.data() +
         ",\"args\":[\"/" + inside_program + "\",\"" + inside_word +
         "\"],\"env\":[],\"cwd\":\"/\",\"capabilities\":{" + sets +
         "}},\"root\":{\"path\":\"/inside\",\"readonly\":true},\"hostname\":\"cloche\",\"mounts\":["
         "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
         "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"}],\"linux\":{"
         "\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},"
         "{\"type\":\"uts\"},{\"type\":\"mount\"},{\"type\":\"user\"}]," +
         users.data() + "}}";
}

// What runsc sees: itself nowhere, and below /inside what it shows.
Outcome enter_own_root(const MakeBox& plan, const Fd& image) {
  CLOCHE_STEP(Step::propagation, ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  const Fd root(make_mount("tmpfs", {{"size", "32m"}, {"nr_inodes", "1024"}, {"mode", "0755"}},
                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  CLOCHE_STEP(Step::storage, root.get());
  CLOCHE_STEP(Step::storage, put_at(root, "/tmp"));
  for (const char* name : {"proc", "dev", "tmp", "run", "bundle", "inside", "inside/image",
                           "inside/proc", "inside/dev", "inside/sys", "inside/tmp",
                           "inside/storage", "inside/system", "inside/groups"})
    CLOCHE_STEP(Step::storage, ::mkdirat(root.get(), name, 0755));
  const Fd inside(::openat(root.get(), "inside", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CLOCHE_STEP(Step::storage, inside.get());
  const std::string_view order(reinterpret_cast<const char*>(&plan), sizeof plan);
  const std::string text = bundle(plan);
  CLOCHE_STEP(Step::storage, copy_own_program(inside.get()) ? 0 : -1);
  CLOCHE_STEP(Step::storage, put_file(inside.get(), inside_plan, order) ? 0 : -1);
  CLOCHE_STEP(Step::storage, put_file(root.get(), "bundle/config.json", text) ? 0 : -1);
  const Fd tree = clone_tree(image.get(), ".");
  CLOCHE_STEP(Step::overlay, tree.get());
  CLOCHE_STEP(Step::overlay,
              protect(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  CLOCHE_STEP(Step::overlay, put_at(tree, "/tmp/inside/image"));
  // While a whole /proc is seen, or a new one is refused. gVisor mounts one of its own below it.
  const Fd proc(make_mount("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  CLOCHE_STEP(Step::proc, proc.get());
  CLOCHE_STEP(Step::proc, put_at(proc, "/tmp/proc"));
  for (const char* name : keeper_devices) {
    std::array<char, 32> from{}, to{};
    std::snprintf(from.data(), from.size(), "/dev/%s", name);
    std::snprintf(to.data(), to.size(), "/tmp/dev/%s", name);
    const Fd place(::open(to.data(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
    CLOCHE_STEP(Step::devices, place.get());
    const Fd device = clone_tree(AT_FDCWD, from.data());
    CLOCHE_STEP(Step::devices, device.get());
    CLOCHE_STEP(Step::devices, put_at(device, to.data()));
  }
  CLOCHE_STEP(Step::pivot, ::fchdir(root.get()));
  CLOCHE_STEP(Step::pivot, ::syscall(SYS_pivot_root, ".", "."));
  CLOCHE_STEP(Step::pivot, ::umount2(".", MNT_DETACH));
  return outcome_of(Step::pivot, ::chdir("/"));
}

Outcome enter_limits(const MakeBox& plan, const BoxGroup& group) {
  const rlim_t threads = gvisor_threads + threads_of_one * plan.process_limit;
  rlimit files{};
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;  // gVisor has one for each that a guest has of the image
  CLOCHE_STEP(Step::limits, ::setrlimit(RLIMIT_NOFILE, &files));
  const rlimit processes{threads, threads}, core{no_core, no_core};
  CLOCHE_STEP(Step::limits, ::setrlimit(RLIMIT_NPROC, &processes));
  CLOCHE_STEP(Step::limits, ::setrlimit(RLIMIT_CORE, &core));
  CLOCHE_STEP(Step::privileges, ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  (void)enter_landlock();
  const std::uint64_t memory = plan.memory_bytes == 0 ? 0 : plan.memory_bytes + gvisor_bytes;
  return outcome_of(Step::groups, group.limit({.memory_bytes = memory,
                                               .processes = static_cast<std::uint32_t>(threads),
                                               .cpus = plan.cpus})
                                      ? 0
                                      : -1);
}

[[noreturn]] void become_runsc(const Fd& runsc, const Fd& socket, const Fd& log) {
  reset_signals();
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  // Away from the numbers that they get.
  const int program = ::fcntl(runsc.get(), F_DUPFD_CLOEXEC, 16);
  const int ours = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 16);
  if (!nothing || program < 0 || ours < 0 || ::dup2(nothing.get(), 0) < 0 ||
      ::dup2(log.get(), 1) < 0 || ::dup2(log.get(), 2) < 0 || ::dup2(ours, socket_number) < 0)
    ::_exit(1);
  constexpr std::array arguments{"runsc",
                                 "--root=/run",
                                 "--platform=systrap",
                                 "--network=none",
                                 "--gofer-network-namespace=host",
                                 "--directfs=false",
                                 "--overlay2=none",
                                 "--host-settings=ignore",
                                 "--ignore-cgroups",
                                 "--in-sandbox-cgroup=v2",
                                 "run",
                                 "--bundle=/bundle",
                                 "--pass-fd=3:3",
                                 "box"};
  std::array<char*, arguments.size() + 1> words{};
  std::ranges::transform(arguments, words.begin(),
                         [](const char* word) { return const_cast<char*>(word); });
  std::array<char*, 1> environment{};
  ::execveat(program, "", words.data(), environment.data(), AT_EMPTY_PATH);
  std::fprintf(stderr, "runsc: %s\n", std::strerror(errno));
  ::_exit(1);
}

// The files of memory that processes of this box have open, each once: gVisor has its guests'
// memory in one, and nothing that it maps says how much of that there is.
class MemoryFiles {
 public:
  std::uint64_t bytes() {
    count_ = 0;
    bytes_ = 0;
    DIR* const processes = ::opendir("/proc");
    if (processes == nullptr) return 0;
    while (const dirent* const entry = ::readdir(processes)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      std::array<char, 300> path{};
      std::snprintf(path.data(), path.size(), "/proc/%s/fd", entry->d_name);
      look_at(path.data());
    }
    ::closedir(processes);
    return bytes_;
  }

 private:
  void look_at(const char* folder) {
    DIR* const files = ::opendir(folder);
    if (files == nullptr) return;
    const int at = ::dirfd(files);
    while (const dirent* const entry = at < 0 ? nullptr : ::readdir(files)) {
      struct stat of{};
      if (::fstatat(at, entry->d_name, &of, 0) != 0) continue;
      if (!S_ISREG(of.st_mode) || of.st_nlink != 0) continue;
      const auto known = known_.begin() + static_cast<std::ptrdiff_t>(count_);
      if (std::find(known_.begin(), known, of.st_ino) != known) continue;
      if (count_ < known_.size()) known_[count_++] = of.st_ino;
      bytes_ += static_cast<std::uint64_t>(of.st_blocks) * 512;
    }
    ::closedir(files);
  }

  std::array<ino_t, 1024> known_{};
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

void say_last_words(const Fd& log, BoxReady& ready) {
  struct stat of{};
  (void)::fstat(log.get(), &of);
  std::array<char, most_detail - 1> text{};
  const off_t from = std::max<off_t>(of.st_size - static_cast<off_t>(text.size()), 0);
  const ssize_t got = ::pread(log.get(), text.data(), text.size(), from);
  std::string_view said(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (said.ends_with('\n')) said.remove_suffix(1);
  said.remove_prefix(std::min(said.rfind('\n') + 1, said.size()));
  said.copy(ready.detail, sizeof ready.detail - 1);
}

class Keeper {
 public:
  Keeper(const MakeBox& plan, KeeperParts parts) : plan_(plan), parts_(std::move(parts)) {}

  [[noreturn]] void keep() {
    BoxReady ready;
    Outcome built = enter_own_root(plan_, parts_.image);
    if (built) built = enter_limits(plan_, parts_.group);
    if (built) built = start();
    if (!built) {
      ready.failed = built.failed;
      ready.error = built.error;
      say(ready);
    }
    watch();
    ready.failed = Step::gvisor;
    say_last_words(log_, ready);
    say(ready);
  }

 private:
  // Heard where the box has not stood yet; nobody listens later.
  [[noreturn]] void say(const BoxReady& ready) {
    (void)send_record(parts_.socket.get(), ready, {}, MSG_DONTWAIT);
    ::_exit(1);
  }

  Outcome start() {
    log_.reset(::open("/log", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600));
    CLOCHE_STEP(Step::gvisor, log_.get());
    sigset_t child{};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    CLOCHE_STEP(Step::gvisor, signals_.get());
    runsc_ = ::fork();
    CLOCHE_STEP(Step::gvisor, runsc_);
    if (runsc_ == 0) become_runsc(parts_.runsc, parts_.socket, log_);
    parts_.runsc.reset();
    return {};
  }

  // Returns when runsc has ended. What looks the same as before is looked at less often: memory is
  // not taken without computing, and the init behind gVisor watches as well.
  void watch() {
    Processes processes;
    int patience_ms = first_look_ms;
    std::uint64_t before = 0;
    for (;;) {
      std::array<pollfd, 2> waiting{{{signals_.get(), POLLIN, 0}, {parts_.socket.get(), 0, 0}}};
      const int ready = ::poll(waiting.data(), waiting.size(), patience_ms);
      if (ready < 0 && errno != EINTR) return;
      if (waiting[1].revents != 0) ::_exit(0);  // Cloche is gone
      if (ready > 0 && reap()) return;
      if (plan_.memory_bytes == 0) continue;
      const std::uint64_t used = processes.rough_use().private_bytes + files_.bytes();
      if (used > plan_.memory_bytes + gvisor_bytes) ::_exit(1);
      patience_ms = used == before ? std::min(2 * patience_ms, longest_look_ms) : first_look_ms;
      before = used;
    }
  }

  bool reap() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) continue;
    bool has_ended = false;
    for (pid_t pid = ::waitpid(-1, nullptr, WNOHANG); pid > 0;
         pid = ::waitpid(-1, nullptr, WNOHANG))
      has_ended |= pid == runsc_;
    return has_ended;
  }

  const MakeBox& plan_;
  KeeperParts parts_;
  Fd log_, signals_;
  pid_t runsc_ = -1;
  MemoryFiles files_;
};

}  // namespace

void keep_gvisor(const MakeBox& plan, KeeperParts parts) noexcept {
  static Keeper keeper(plan, std::move(parts));
  keeper.keep();
}

}  // namespace cloche::warden

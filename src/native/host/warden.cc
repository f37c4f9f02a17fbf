// SPDX-License-Identifier: Apache-2.0
#include "native/host/warden.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/host_error.h"
#include "native/host/patience.h"
#include "native/warden/gate.h"
#include "native/warden/packet.h"
#include "native/warden/starter.h"

namespace cloche::native {
namespace {

struct SpawnPlan {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none{}, all{};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

Result<Result<void>> settle(Box& box, const BoxPlan& plan) {
  if (plan.settles_later()) return box.settle(plan);
  CLOCHE_TRY(box.usage());  // one that has ended has none
  return Result<void>();
}

// Ours, and theirs away from the numbers that it gets, which would stay close-on-exec.
Sockets ends_for_program() {
  Result<Sockets> made = make_sockets();
  if (!made) throw HostError::from_errno("sockets for cloche-warden", errno);
  UniqueFd theirs(::fcntl(made->theirs.get(), F_DUPFD_CLOEXEC, warden::mounter_fd + 1));
  if (!theirs) throw HostError::from_errno("sockets for cloche-warden", errno);
  return {.ours = std::move(made->ours), .theirs = std::move(theirs)};
}

std::string text_of(const WardenGate& gate) {
  std::string text = fmt::format("{}=", warden::gate_variable);
  std::size_t count = 0;
  const auto add = [&](const struct stat& of, const char* use) {
    if (++count > warden::most_gate_files)
      throw HostError(
          fmt::format("the linux engine mounts {} folders and files at most: name fewer",
                      warden::most_gate_files - 1));
    text += fmt::format("{} {} {}\n", of.st_dev, of.st_ino, use);
  };
  struct stat of{};
  for (const WardenGate::File& mount : gate.mounts) {
    if (::stat(mount.path.c_str(), &of) == 0) add(of, mount.is_read_only ? "ro" : "rw");
  }
  if (gate.runsc >= 0 && ::fstat(gate.runsc, &of) == 0) add(of, "gvisor");
  std::error_code error;
  const std::filesystem::path images = std::filesystem::weakly_canonical(gate.images, error);
  return text + (error ? gate.images : images).string() + "\n";
}

void wait_for_end(pid_t pid) noexcept {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

Warden::~Warden() {
  pool_.end();
  const MutexLock lock(mutex_);
  bury();
  starter_.reset();  // at whose end it ends
  if (starter_pid_ > 0) wait_for_end(starter_pid_);
}

// Without waiting for anything.
bool Warden::is_there() {
  if (!socket_) return false;
  pollfd process{.fd = socket_.get(), .events = 0, .revents = 0};
  if (::poll(&process, 1, 0) <= 0 || process.revents == 0) return true;
  bury_ended();
  return false;
}

void Warden::bury() noexcept {
  socket_.reset();  // at whose end it ends
  mounter_.reset();
  if (pid_ > 0) wait_for_end(pid_);
  if (process_) (void)readable_within(process_.get(), patience);
  process_.reset();
  pid_ = -1;
}

// What it has made ends with it.
void Warden::bury_ended() {
  bury();
  pool_.clear();
  ends_.push_back(std::chrono::steady_clock::now());
  if (ended_) ended_();
}

void Warden::need_start_allowed() {
  const SteadyTime now = std::chrono::steady_clock::now();
  while (!ends_.empty() && ends_.front() + most_ends_.within <= now) ends_.pop_front();
  if (ends_.size() < most_ends_.most) return;
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(ends_.front() + most_ends_.within - now);
  throw HostError(fmt::format(
      "cloche-warden, which makes the boxes of the linux engine, has ended {} times within {} s, "
      "and another is begun in {} s: find out who ends it, such as a machine without memory",
      ends_.size(), std::chrono::ceil<std::chrono::seconds>(most_ends_.within).count(),
      left.count()));
}

// `word`: null for a warden. -1, with errno, where it cannot be started.
pid_t Warden::start_program(const char* word, int socket, int mounter) {
  SpawnPlan plan;
  for (const int fd : {0, 1, 2})
    posix_spawn_file_actions_addopen(&plan.actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, socket, warden::socket_fd);
  if (mounter >= 0) posix_spawn_file_actions_adddup2(&plan.actions, mounter, warden::mounter_fd);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions,
                                           warden::socket_fd + (mounter >= 0 ? 2 : 1));
  posix_spawn_file_actions_addchdir_np(&plan.actions, "/");
  // A guest reads of its pid 1 how this was called, and is told no folder of the machine.
  std::string name = program_.filename().string(), first = word == nullptr ? "" : word;
  const char* const named = std::getenv("CLOCHE_CGROUP");
  std::string groups = named == nullptr ? "" : named;
  std::vector<char*> arguments{name.data()};
  if (!first.empty()) arguments.push_back(first.data());
  if (!groups.empty()) arguments.push_back(groups.data());
  arguments.push_back(nullptr);
  std::array<char*, 2> environment{gate_.empty() ? nullptr : gate_.data(), nullptr};
  pid_t pid = -1;
  errno = ::posix_spawn(&pid, program_.c_str(), &plan.actions, &plan.attributes, arguments.data(),
                        environment.data());
  return errno == 0 ? pid : -1;
}

void Warden::start() {
  if (program_.empty())
    throw HostError(
        "the linux engine has no cloche-warden: it lies beside cloche, or in lib/cloche where that "
        "is installed");
  need_start_allowed();
  if (starter_) return start_by_starter();
  Sockets sockets = ends_for_program(), mounter = ends_for_program();
  const bool has_mounter = ::geteuid() == 0;
  pid_ = start_program(nullptr, sockets.theirs.get(), has_mounter ? mounter.theirs.get() : -1);
  if (pid_ < 0) throw HostError::from_errno("cannot start " + program_.string(), errno);
  socket_ = std::move(sockets.ours);
  if (has_mounter) mounter_ = std::move(mounter.ours);
  has_begun_ = true;
}

void Warden::start_by_starter() {
  warden::WardenStarted started;
  warden::Packet packet;
  if (!warden::send_record(starter_.get(), warden::StartWarden()) ||
      !readable_within(starter_.get(), patience) ||
      !warden::receive_record(starter_.get(), started, packet))
    throw HostError(
        "cloche-warden has ended, which makes the boxes of the linux engine, and so has what "
        "begins another: start the program anew",
        Errno::pipe);
  if (started.error != 0)
    throw HostError::from_errno("cannot start " + program_.string(), started.error);
  socket_.reset(packet.take_fd(0));
  process_.reset(packet.take_fd(1));
  if (packet.fd_count() > 2) mounter_.reset(packet.take_fd(2));
  has_begun_ = true;
}

void Warden::begin(const std::optional<WardenGate>& gate) {
  const MutexLock lock(mutex_);
  if (gate && gate_.empty()) gate_ = text_of(*gate);
  if (!starter_ && !program_.empty()) {
    Sockets sockets = ends_for_program();
    starter_pid_ = start_program(warden::starter_word, sockets.theirs.get(), -1);
    if (starter_pid_ < 0) throw HostError::from_errno("cannot start " + program_.string(), errno);
    starter_ = std::move(sockets.ours);
  }
  if (!is_there()) start();
}

std::string Warden::trouble() {
  const MutexLock lock(mutex_);
  if (!has_begun_ || is_there()) return {};
  try {
    start();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Warden::Warden(std::filesystem::path program, BoxPool::Options pool, WardenEnds ends)
    : program_(std::move(program)), most_ends_(ends), pool_(pool, [this](const BoxPlan& plan) {
        return make_new(plan, plan.settles_later() ? Limits::later : Limits::now);
      }) {}

std::unique_ptr<Box> Warden::make(const BoxPlan& plan) {
  while (std::unique_ptr<Box> box = pool_.take(plan)) {
    const Result<Result<void>> settled = settle(*box, plan);
    if (!settled) continue;  // one that has been ended, or the limits are none: a new one says why
    if (const Result<void>& home = *settled; !home) throw Error(home.error(), plan.home);
    return box;
  }
  const BoxPool::Wait wait(pool_);
  return make_new(plan, Limits::now);
}

// False: it has ended, and its boxes with it.
template <typename Order, typename Made>
bool Warden::ask(const Order& order, std::span<const int> fds, Made& made, warden::Packet& packet) {
  const bool is_sent = warden::send_record(socket_.get(), order, fds);
  // Guests that are this process's user have too many descriptors on their way.
  if (!is_sent && errno == ETOOMANYREFS) {
    warden::note_undelivered(made, ETOOMANYREFS);
    return true;
  }
  if (is_sent && readable_within(socket_.get(), patience) &&
      warden::receive_record(socket_.get(), made, packet))
    return true;
  bury_ended();
  return false;
}

warden::BoxMade Warden::order(const BoxPlan& plan, const warden::MakeBox& order, int socket,
                              warden::Packet& packet) {
  std::vector<int> fds{socket, plan.image};
  if (plan.begin_with >= 0) fds.push_back(plan.begin_with);
  if (plan.runsc >= 0) fds.push_back(plan.runsc);
  warden::BoxMade made;
  const MutexLock lock(mutex_);
  for (int tries = is_there() ? 2 : 1; tries > 0; --tries) {  // it may end meanwhile
    if (!is_there()) start();
    std::vector<int> all = fds;
    try {
      const MountSet mounts(plan.mounts, mounter_.get());
      for (const UniqueFd& fd : mounts.descriptors()) all.push_back(fd.get());
      if (ask(order, all, made, packet)) return made;
    } catch (const MounterEnded&) {
      bury_ended();
      if (tries == 1) throw;
    }
  }
  throw HostError("cloche-warden has ended, which makes the boxes of the linux engine");
}

Result<LargeFile> Warden::make_file() {
  warden::FileMade made;
  warden::Packet packet;
  {
    const MutexLock lock(mutex_);
    if (!is_there()) return Errno::nosys;
    if (!ask(warden::MakeFile(), {}, made, packet)) return Errno::pipe;
  }
  if (made.error != 0) return errno_from_host(made.error);
  return LargeFile{UniqueFd(packet.take_fd(0)), UniqueFd(packet.take_fd(1))};
}

std::unique_ptr<Box> Warden::make_new(const BoxPlan& plan, Limits limits) {
  Result<Sockets> sockets = make_sockets();
  if (!sockets) throw HostError("no sockets for a box: too many files are open");
  warden::MakeBox how{.process_limit = plan.limits.processes,
                      .open_file_limit = plan.limits.open_files,
                      .cpus = plan.limits.cpus,
                      .user = plan.user,
                      .group = plan.group,
                      .file_bytes = plan.limits.file_bytes,
                      .file_inodes = plan.limits.file_inodes,
                      .memory_bytes = plan.limits.memory_bytes,
                      .root = plan.root,
                      .isolation = plan.isolation,
                      .has_upper = plan.begin_with >= 0};
  how.mounts = static_cast<std::uint32_t>(plan.mounts.size());
  how.keeps_set_id = std::ranges::all_of(plan.mounts, &HostMount::is_read_only);
  how.settles_later = limits == Limits::later;
  const bool fits = plan.home.size() < sizeof how.home;
  if (fits) plan.home.copy(how.home, sizeof how.home);
  warden::Packet packet;
  const warden::BoxMade made = order(plan, how, sockets->theirs.get(), packet);
  if (made.failed != warden::Step::none) throw HostError(explain(made.failed, made.error));
  auto process = UniqueFd(packet.take_fd(0));
  sockets->theirs.reset();
  warden::BoxReady ready;
  warden::Packet nothing;
  const int socket = sockets->ours.get();
  auto box = std::make_unique<Box>(std::move(sockets->ours), std::move(process), plan.isolation);
  if (!readable_within(socket, patience) || !warden::receive_record(socket, ready, nothing))
    throw HostError("a box of the linux engine ended before it was made");
  if (ready.failed == warden::Step::mounts && ready.mount < plan.mounts.size())
    throw request_error(explain_mount(plan.mounts[ready.mount], ready.error),
                        errno_from_host(ready.error));
  if (ready.failed == warden::Step::gvisor) throw HostError(explain_gvisor(ready));
  if (ready.failed != warden::Step::none) throw HostError(explain(ready.failed, ready.error));
  if (ready.home != 0) throw Error(errno_from_host(ready.home), plan.home);
  if (plan.isolation == warden::Isolation::full) controllers_ = ready.controllers;
  if (!fits) {
    if (const Result<void> home = box->files().make_folders(plan.home); !home)
      throw Error(home.error(), plan.home);
  }
  return box;
}

}  // namespace cloche::native

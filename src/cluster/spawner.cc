// SPDX-License-Identifier: Apache-2.0
#include "cluster/spawner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <string_view>

#include "base/descriptor_channel.h"
#include "base/host_error.h"
#include "base/write_fully.h"

namespace cloche::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds memory_interval{250};
constexpr int failed_status = 2;
constexpr std::size_t key_bytes = sizeof(CellKey);

// The pages that a process has in memory, by its /proc/PID/statm; 0 where that is not there.
std::uint64_t resident_bytes(pid_t process) {
  const UniqueFd fd(::open(fmt::format("/proc/{}/statm", process).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  const std::string_view line(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t space = line.find(' ');
  std::uint64_t pages = 0;
  if (space != line.npos)
    std::from_chars(line.data() + space + 1, line.data() + line.size(), pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// When the machine is out of memory it ends a worker, not the server or other programs.
void offer_to_the_oom_killer() {
  const UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) (void)write_fully(fd.get(), "500");
}

sigset_t ends_of_children() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  return ends;
}

// The spawner's own process.
class Supervisor {
 public:
  // `children`: what tells this process of their ends.
  Supervisor(UniqueFd channel, UniqueFd children, const Spawner::Options& options,
             const Spawner::Body& body)
      : channel_(std::move(channel)),
        children_(std::move(children)),
        options_(options),
        body_(body) {
    const sigset_t ends = ends_of_children();
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  }

  int run() {
    while (!ending_ || !workers_.empty()) {
      const short of_channel = untold_.empty() ? POLLIN : POLLIN | POLLOUT;
      std::array<pollfd, 2> wanted{{{children_.get(), POLLIN, 0}, {channel_.get(), of_channel, 0}}};
      const nfds_t count = ending_ ? 1 : 2;  // one that has ended is always ready
      if (::poll(wanted.data(), count, timeout_ms()) < 0 && errno != EINTR) return failed_status;
      reap();
      tell_what_is_untold();
      if (count == 2 && (wanted[1].revents & ~POLLOUT) != 0) take_order();
      watch_memory();
      if (ending_ && Clock::now() >= deadline_) end_all(SIGKILL);
    }
    return 0;
  }

 private:
  struct Worker {
    CellKey key = 0;
    bool over_memory = false;
  };

  int timeout_ms() const {
    if (ending_) return 100;
    return options_.memory_limit_bytes > 0 && !workers_.empty()
               ? static_cast<int>(memory_interval.count())
               : -1;
  }

  void take_order() {
    std::optional<ChannelMessage> order = receive_message(channel_.get());
    if (!order) {
      ending_ = true;
      deadline_ = Clock::now() + options_.grace;
      return end_all(SIGTERM);
    }
    if (order->text.size() < key_bytes) return;
    WorkerTask task;
    task.channel = std::move(order->descriptor);
    std::memcpy(&task.key, order->text.data(), key_bytes);
    if (!task.channel) return kill(task.key);
    task.owner = order->text.substr(key_bytes);
    start(std::move(task));
  }

  void start(WorkerTask task) {
    const CellKey key = task.key;
    const pid_t self = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) return tell({.key = key, .status = failed_status << 8});
    if (process > 0) {
      workers_[process] = {.key = key};
      return;
    }
    channel_.reset();
    children_.reset();
    // It ends with the spawner, whatever becomes of that.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (::getppid() != self) ::_exit(failed_status);
    ::sigprocmask(SIG_SETMASK, &options_.signals, nullptr);
    offer_to_the_oom_killer();
    int status = failed_status;
    try {
      status = body_(std::move(task));
    } catch (const std::exception& error) {
      fmt::print(stderr, "cloche serve: worker {}: {}\n", key, error.what());
    }
    std::fflush(nullptr);
    ::_exit(status);
  }

  void kill(CellKey key) {
    for (const auto& [process, worker] : workers_) {
      if (worker.key == key) ::kill(process, SIGKILL);
    }
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (::read(children_.get(), &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = workers_.find(process);
      if (found == workers_.end()) continue;
      tell({.key = found->second.key, .status = status, .over_memory = found->second.over_memory});
      workers_.erase(found);
    }
  }

  void watch_memory() {
    if (options_.memory_limit_bytes == 0 || Clock::now() < next_look_) return;
    next_look_ = Clock::now() + memory_interval;
    for (auto& [process, worker] : workers_) {
      if (resident_bytes(process) <= options_.memory_limit_bytes) continue;
      worker.over_memory = true;
      ::kill(process, SIGKILL);
    }
  }

  void end_all(int signal) {
    for (const auto& [process, worker] : workers_) ::kill(process, signal);
  }

  void tell(const WorkerEnd& end) {
    std::string text(key_bytes + sizeof end.status + 1, '\0');
    std::memcpy(text.data(), &end.key, key_bytes);
    std::memcpy(text.data() + key_bytes, &end.status, sizeof end.status);
    text.back() = end.over_memory ? '\1' : '\0';
    untold_.push_back(std::move(text));
    tell_what_is_untold();
  }

  // As much as the server has room for; to nobody where it has gone.
  void tell_what_is_untold() {
    while (!untold_.empty() && send_message(channel_.get(), untold_.front()) != EAGAIN)
      untold_.pop_front();
  }

  UniqueFd channel_;
  UniqueFd children_;
  const Spawner::Options options_;
  const Spawner::Body& body_;
  std::map<pid_t, Worker> workers_;
  std::deque<std::string> untold_;  // ends
  bool ending_ = false;
  Clock::time_point deadline_;
  Clock::time_point next_look_;
};

}  // namespace

std::string WorkerEnd::reason() const {
  if (over_memory) return "it had more memory than a worker may have";
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

Spawner::Spawner(const Options& options, const Body& body) {
  auto [own, its] = make_channel();
  const sigset_t ends = ends_of_children();
  UniqueFd children(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children) throw HostError::from_errno("cannot start the process that starts workers", errno);
  process_ = ::fork();
  if (process_ < 0)
    throw HostError::from_errno("cannot start the process that starts workers", errno);
  if (process_ == 0) {
    own.reset();
    ::setsid();  // Ctrl-C is the server's to hear
    ::prctl(PR_SET_NAME, "cloche-spawner", 0, 0, 0);
    ::_exit(Supervisor(std::move(its), std::move(children), options, body).run());
  }
  channel_ = std::move(own);
}

Spawner::~Spawner() {
  stop();
  while (wait()) {
  }
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

UniqueFd Spawner::start(CellKey key, const std::string& owner) {
  auto [own, its] = make_channel();
  std::string text(key_bytes, '\0');
  std::memcpy(text.data(), &key, key_bytes);
  if (const int error = send_message(channel_.get(), text + owner, its.get()); error != 0)
    throw HostError::from_errno("no worker can be started", error);
  return std::move(own);
}

void Spawner::kill(CellKey key) {
  std::string text(key_bytes, '\0');
  std::memcpy(text.data(), &key, key_bytes);
  (void)send_message(channel_.get(), text);
}

std::optional<WorkerEnd> Spawner::wait() {
  const std::optional<ChannelMessage> message = receive_message(channel_.get());
  if (!message || message->text.size() != key_bytes + sizeof(int) + 1) return std::nullopt;
  WorkerEnd end;
  std::memcpy(&end.key, message->text.data(), key_bytes);
  std::memcpy(&end.status, message->text.data() + key_bytes, sizeof end.status);
  end.over_memory = message->text.back() != '\0';
  return end;
}

void Spawner::stop() { ::shutdown(channel_.get(), SHUT_WR); }

}  // namespace cloche::cluster

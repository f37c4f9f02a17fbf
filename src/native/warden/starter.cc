// SPDX-License-Identifier: Apache-2.0
#include "native/warden/starter.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "native/warden/fd.h"
#include "native/warden/packet.h"
#include "native/warden/warden.h"
#include "native/warden/wire.h"

namespace cloche::warden {
namespace {

// The one that is wanted, and those whose boxes take a while to end.
constexpr int most_wardens = 8;

struct Ends {
  Fd ours, theirs;
};

bool make_ends(Ends& ends) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
  ends.ours.reset(pair[0]);
  ends.theirs.reset(pair[1]);
  return true;
}

// As a program that has just been started: with its own sockets and no others, in a session of its
// own, and with no signal held back.
[[noreturn]] void become_warden(Ends& orders, Ends& mounts, const char* group_folder,
                                pid_t program) noexcept {
  // Away from the numbers that they get.
  const int own = ::fcntl(orders.theirs.get(), F_DUPFD, mounter_fd + 1);
  const int mounter = mounts.theirs ? ::fcntl(mounts.theirs.get(), F_DUPFD, mounter_fd + 1) : -1;
  if (own < 0 || (mounts.theirs && mounter < 0) || ::dup2(own, socket_fd) < 0) ::_exit(1);
  ::close(mounter_fd);
  if (mounter >= 0 && ::dup2(mounter, mounter_fd) < 0) ::_exit(1);
  if (::close_range(mounter_fd + 1, ~0U, 0) != 0) ::_exit(1);
  (void)::setsid();
  (void)::prctl(PR_SET_NAME, "cloche-warden");
  sigset_t none{};
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::_exit(serve_boxes(socket_fd, group_folder, program));
}

class Starter {
 public:
  Starter(const char* group_folder, pid_t program) noexcept
      : group_folder_(group_folder), program_(program) {}

  bool answer(int socket) noexcept {
    Packet packet;
    StartWarden order;
    if (!receive_record(socket, order, packet)) return errno == EBADMSG || errno == EMSGSIZE;
    Ends orders, mounts;
    Fd process;
    WardenStarted started;
    if (!start(order, orders, mounts, process)) started.error = errno != 0 ? errno : EAGAIN;
    const std::array beside{orders.ours.get(), process.get(), mounts.ours.get()};
    const std::size_t count = started.error != 0 ? 0 : mounts.ours ? 3 : 2;
    return send_record(socket, started, std::span(beside).first(count));
  }

  void bury(int signals) noexcept {
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) > 0) continue;
    while (::waitpid(-1, nullptr, WNOHANG) > 0) --wardens_;
  }

 private:
  bool start(const StartWarden& order, Ends& orders, Ends& mounts, Fd& process) noexcept {
    errno = order.version != protocol_version ? EINVAL : EAGAIN;
    if (order.version != protocol_version || wardens_ >= most_wardens) return false;
    if (!make_ends(orders) || (::geteuid() == 0 && !make_ends(mounts))) return false;
    int pidfd = -1;
    clone_args how{};
    how.flags = CLONE_PIDFD;
    how.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    how.exit_signal = SIGCHLD;
    const long pid = ::syscall(SYS_clone3, &how, sizeof how);
    if (pid == 0) become_warden(orders, mounts, group_folder_, program_);
    if (pid < 0) return false;
    ++wardens_;
    process.reset(pidfd);
    return true;
  }

  const char* const group_folder_;
  const pid_t program_;
  int wardens_ = 0;
};

}  // namespace

int serve_starts(int socket, const char* group_folder) noexcept {
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  const Fd signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return 1;
  (void)::prctl(PR_SET_NAME, "cloche-starter");
  Starter starter(group_folder, ::getppid());
  for (;;) {
    std::array<pollfd, 2> waiting{{{socket, POLLIN, 0}, {signals.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return 1;
    if (waiting[1].revents != 0) starter.bury(signals.get());
    if (waiting[0].revents != 0 && !starter.answer(socket)) return 0;
  }
}

}  // namespace cloche::warden

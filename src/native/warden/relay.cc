// SPDX-License-Identifier: Apache-2.0
#include "native/warden/relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <utility>

#include "native/warden/command.h"
#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

// One way: what was read waits until it is written.
class Way {
 public:
  Way(int from, int to) : from_(from), to_(to) {}

  bool is_over() const { return is_over_; }
  bool wants_to_read() const { return !is_over_ && begin_ == end_; }
  bool wants_to_write() const { return !is_over_ && begin_ != end_; }

  void read() {
    const ssize_t got = ::read(from_, room_.data(), room_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return finish();  // EIO of a terminal that nobody has open
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
  }

  void write() {
    const ssize_t done = ::write(to_, room_.data() + begin_, end_ - begin_);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (done <= 0) return finish();
    begin_ += static_cast<std::size_t>(done);
  }

 private:
  void finish() {
    is_over_ = true;
    (void)::shutdown(to_, SHUT_WR);
  }

  int from_, to_;
  bool is_over_ = false;
  std::size_t begin_ = 0, end_ = 0;
  std::array<char, 65536> room_{};
};

// A terminal has no ends of its ways: where one is over it is over.
[[noreturn]] void carry(int inner, int outer, bool is_terminal) {
  static Way in(outer, inner), out(inner, outer);
  for (const int fd : {inner, outer}) (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  while (!out.is_over() && !(in.is_over() && is_terminal)) {
    const auto events = [](const Way& reads, const Way& writes) {
      return static_cast<short>((reads.wants_to_read() ? POLLIN : 0) |
                                (writes.wants_to_write() ? POLLOUT : 0));
    };
    std::array<pollfd, 2> waiting{{{inner, events(out, in), 0}, {outer, events(in, out), 0}}};
    if (waiting[1].events == 0 && in.is_over()) waiting[1].fd = -1;
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) break;
    constexpr short ended = POLLHUP | POLLERR;
    if (out.wants_to_read() && (waiting[0].revents & (POLLIN | ended)) != 0) out.read();
    if (in.wants_to_read() && (waiting[1].revents & (POLLIN | ended)) != 0) in.read();
    if (out.wants_to_write()) out.write();
    if (in.wants_to_write()) in.write();
  }
  ::_exit(0);
}

constexpr int own_first = 3, own_second = 4;

// Nothing else is open in it from then on.
void stand_apart(const Fd& first, const Fd& second, const WallPlan& wall, const Filter& filter) {
  reset_signals();
  (void)::signal(SIGPIPE, SIG_IGN);
  const int first_away = ::fcntl(first.get(), F_DUPFD_CLOEXEC, own_second + 1);
  const int second_away = ::fcntl(second.get(), F_DUPFD_CLOEXEC, own_second + 1);
  if (::setsid() < 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || first_away < 0 ||
      second_away < 0 || ::dup2(first_away, own_first) < 0 || ::dup2(second_away, own_second) < 0 ||
      ::close_range(own_second + 1, ~0U, 0) != 0 || !enter_wall(wall, filter))
    ::_exit(1);
}

}  // namespace

void relay(const Fd& inner, const Fd& outer, const WallPlan& wall, const Filter& filter) noexcept {
  stand_apart(inner, outer, wall, filter);
  carry(own_first, own_second, true);
}

void relay_port(const Fd& channel, std::uint16_t port, bool is_v6, const Fd& outer,
                const WallPlan& wall, const Filter& filter) noexcept {
  stand_apart(channel, outer, wall, filter);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int made = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected = made < 0 ? -1
                        : is_v6  ? ::connect(made, reinterpret_cast<sockaddr*>(&v6), sizeof v6)
                                 : ::connect(made, reinterpret_cast<sockaddr*>(&v4), sizeof v4);
  (void)send_record(own_first, Answer{.value = connected == 0 ? 0 : errno});
  if (connected != 0) ::_exit(0);
  carry(made, own_second, false);
}

}  // namespace cloche::warden

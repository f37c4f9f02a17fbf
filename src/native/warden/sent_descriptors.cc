// SPDX-License-Identifier: Apache-2.0
#include "native/warden/sent_descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>

#include "native/warden/fd.h"
#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

// A line of /proc/net/unix: address, count, protocol, flags, type, state, number, name. 0: none, as
// of a connection that nobody has accepted, of which its listener tells.
std::uint64_t socket_number_in(std::string_view line) noexcept {
  constexpr int fields_before = 6;
  for (int i = 0; i < fields_before; ++i) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  std::uint64_t number = 0;
  (void)std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

template <typename Take>
void for_each_listed(Take&& take) noexcept {
  const Fd file(::open("/proc/net/unix", O_RDONLY | O_CLOEXEC));
  static std::array<char, 64 << 10> text;
  std::size_t kept = 0;  // of a line whose end has not come
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + kept, text.size() - kept);
    if (got <= 0) return;
    std::string_view rest(text.data(), kept + static_cast<std::size_t>(got));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      take(socket_number_in(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
    kept = rest.size() < text.size() ? rest.size() : 0;
    std::memmove(text.data(), rest.data(), kept);
  }
}

// Whether more than that are on their way. Not known, and not so, where it cannot be tried.
class Trial {
 public:
  Trial() noexcept {
    constexpr int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    std::array<int, 2> ends{-1, -1};
    is_ready_ = ::getrlimit(RLIMIT_NOFILE, &before_) == 0 &&
                ::socketpair(AF_UNIX, type, 0, ends.data()) == 0;
    sending_ = Fd(ends[0]);
    receiving_ = Fd(ends[1]);
    file_ = Fd(::open("/", O_PATH | O_CLOEXEC));
  }
  ~Trial() {
    if (is_ready_) (void)::setrlimit(RLIMIT_NOFILE, &before_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  std::uint64_t most() const noexcept { return is_ready_ ? before_.rlim_max : 0; }

  bool is_beyond(std::uint64_t count) noexcept {
    rlimit limit = before_;
    limit.rlim_cur = count;
    if (!is_ready_ || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    char byte = 0;
    const int file = file_.get();
    const bool is_sent = send_record(sending_.get(), byte, std::span(&file, 1));
    const bool is_refused = !is_sent && errno == ETOOMANYREFS;
    if (is_sent) (void)::recv(receiving_.get(), &byte, sizeof byte, 0);  // and nothing beside it
    return is_refused;
  }

 private:
  bool is_ready_ = false;
  rlimit before_{};
  Fd sending_, receiving_, file_;
};

// Of this process's user. Doubled until it is enough, and then halved: mostly they are few.
std::uint64_t all_on_their_way() noexcept {
  Trial trial;
  const std::uint64_t most = trial.most();
  std::uint64_t beyond = 0, within = 1;
  if (!trial.is_beyond(beyond)) return 0;
  while (within < most && trial.is_beyond(within)) {
    beyond = within;
    within = std::min(2 * within, most);
  }
  while (within - beyond > 1) {
    const std::uint64_t between = beyond + (within - beyond) / 2;
    (trial.is_beyond(between) ? beyond : within) = between;
  }
  return within;
}

}  // namespace

void SentDescriptors::see(std::string_view what) noexcept {
  constexpr std::string_view title("socket:[");
  if (!what.starts_with(title)) return;
  what.remove_prefix(title.size());
  std::uint64_t number = 0;
  (void)std::from_chars(what.data(), what.data() + what.size(), number);
  seen_[std::min(seen_count_, seen_.size() - 1)] = number;
  seen_count_ = std::min(seen_count_ + 1, seen_.size());
}

// Whoever hands a socket over has it on its way for a moment: that is none.
bool SentDescriptors::is_one_unseen() noexcept {
  const auto seen = std::span(seen_).first(seen_count_);
  std::ranges::sort(seen);
  const auto before = std::span(unseen_before_).first(unseen_count_);
  std::size_t count = 0;
  bool stays = false;
  for_each_listed([&](std::uint64_t number) {
    if (number == 0 || std::ranges::binary_search(seen, number)) return;
    stays = stays || std::ranges::binary_search(before, number);
    unseen_[std::min(count, unseen_.size() - 1)] = number;
    count = std::min(count + 1, unseen_.size());
  });
  std::ranges::sort(std::span(unseen_).first(count));
  std::ranges::copy(std::span(unseen_).first(count), unseen_before_.begin());
  unseen_count_ = count;
  return stays;
}

std::uint64_t SentDescriptors::hidden(std::uint64_t told) noexcept {
  if (!is_one_unseen()) return 0;
  const std::uint64_t all = all_on_their_way();
  return all - std::min(all, told);
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
#include "native/warden/network_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

// With the first version of these protocols nobody tells that a group was left.
constexpr std::array group_settings{"/proc/sys/net/ipv4/conf/lo/force_igmp_version",
                                    "/proc/sys/net/ipv6/conf/lo/force_mld_version"};

// What else there is to be seen, such as groups and ports, goes with its socket.
constexpr std::array texts{"/proc/self/net/dev",           "/proc/self/net/snmp",
                           "/proc/self/net/netstat",       "/proc/self/net/snmp6",
                           "/proc/self/net/ip6_flowlabel", "/proc/self/net/fib_trie"};

// Its first line has the sockets of this network, others have numbers of the whole machine.
constexpr const char* sockets = "/proc/self/net/sockstat";

}  // namespace

bool NetworkTrace::calm() noexcept {
  for (const char* path : group_settings) {
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) continue;  // nor are there such groups
    if (!file || ::write(file.get(), "1", 1) != 1) return false;
  }
  return true;
}

bool NetworkTrace::take() noexcept {
  size_ = 0;
  const bool is_whole =
      std::ranges::all_of(texts, [&](const char* path) { return add(path, Part::all); }) &&
      add(sockets, Part::first_line);
  if (!is_whole) size_ = 0;
  return is_whole;
}

// What this kernel does not have is so in all of its networks.
bool NetworkTrace::add(const char* path, Part part) noexcept {
  const std::size_t begin = size_;
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) {
    if (errno != ENOENT || size_ == text_.size()) return false;
    text_[size_++] = '-';
    return true;
  }
  for (;;) {
    const ssize_t got = ::read(file.get(), text_.data() + size_, text_.size() - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    size_ += static_cast<std::size_t>(got);
    if (size_ == text_.size()) return false;  // there may be more
  }
  if (part == Part::first_line) {
    const std::string_view text(text_.data() + begin, size_ - begin);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    size_ = begin + end + 1;
  }
  return size_ > begin;
}

}  // namespace cloche::warden

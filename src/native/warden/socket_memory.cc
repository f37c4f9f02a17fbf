// SPDX-License-Identifier: Apache-2.0
#include "native/warden/socket_memory.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>

#include "native/warden/fd.h"
#include "native/warden/looks.h"
#include "native/warden/proc_text.h"
#include "native/warden/question.h"
#include "native/warden/root.h"

namespace cloche::warden {
namespace {

constexpr std::uint64_t usual = 256;  // of each kind
constexpr std::uint64_t most_of_plain = 2 * std::uint64_t{Questions::most_buffer};
constexpr std::uint64_t of_socket =
    4096;  // itself, with its file; none of the kernel's answers has it

std::uint64_t beyond_usual(std::uint64_t count) {
  return (count - std::min(count, usual)) * most_of_plain;
}

struct Counts {
  std::uint64_t local = 0;  // between processes, to the kernel, or of the network's echoes
  std::uint64_t stream = 0;
  std::uint64_t datagram = 0;
};

// Of all that there are in the box's network, whoever has them: lines of name, size, number.
Counts count_sockets() {
  Counts counts;
  std::array<char, 8192> text{};
  std::string_view table = read_text("/proc/net/protocols", text);
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    std::uint64_t* const kind =
        line.starts_with("UNIX") || line.starts_with("NETLINK") || line.starts_with("PING")
            ? &counts.local
        : line.starts_with("TCP") ? &counts.stream
        : line.starts_with("UDP") ? &counts.datagram
                                  : nullptr;
    if (kind == nullptr) continue;
    for (int i = 0; i < 2; ++i) {  // name, size
      line.remove_prefix(std::min(line.find(' '), line.size()));
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    std::uint64_t count = 0;
    (void)std::from_chars(line.data(), line.data() + line.size(), count);
    *kind += count;
  }
  return counts;
}

// Those too that are bound to nothing, and so in no table of their kind.
std::uint64_t count_all_sockets() {
  std::array<char, 512> text{};
  return number_after<std::uint64_t>(read_text("/proc/net/sockstat", text), "sockets: used ")
      .value_or(0);
}

// What one of these answers says that a socket keeps.
std::uint64_t bytes_in(const nlmsghdr& answer) {
  constexpr auto head = static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)));
  if (answer.nlmsg_len < head) return 0;
  const auto* const socket = static_cast<const inet_diag_msg*>(NLMSG_DATA(&answer));
  auto left = static_cast<unsigned>(answer.nlmsg_len - head);
  for (auto* one = reinterpret_cast<const rtattr*>(socket + 1); RTA_OK(one, left);
       one = RTA_NEXT(one, left)) {
    std::array<std::uint32_t, SK_MEMINFO_BACKLOG + 1> sizes{};
    if (one->rta_type != INET_DIAG_SKMEMINFO || RTA_PAYLOAD(one) < sizeof sizes) continue;
    std::memcpy(sizes.data(), RTA_DATA(one), sizeof sizes);
    return std::uint64_t{sizes[SK_MEMINFO_RMEM_ALLOC]} + sizes[SK_MEMINFO_WMEM_QUEUED] +
           sizes[SK_MEMINFO_FWD_ALLOC] + sizes[SK_MEMINFO_BACKLOG];
  }
  return 0;
}

// All of a kind together. None: the kernel does not tell.
std::optional<std::uint64_t> ask_kernel(const Fd& kernel, int family, int protocol) {
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 what{};
  } question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.what.sdiag_family = static_cast<std::uint8_t>(family);
  question.what.sdiag_protocol = static_cast<std::uint8_t>(protocol);
  question.what.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
  question.what.idiag_states = ~0U;
  if (::send(kernel.get(), &question, sizeof question, MSG_DONTWAIT) < 0) return std::nullopt;
  alignas(nlmsghdr) static std::array<char, 32 << 10> answers;
  for (std::uint64_t bytes = 0;;) {
    const ssize_t got = ::recv(kernel.get(), answers.data(), answers.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    auto left = static_cast<unsigned>(got);
    for (auto* one = reinterpret_cast<const nlmsghdr*>(answers.data()); NLMSG_OK(one, left);
         one = NLMSG_NEXT(one, left)) {
      if (one->nlmsg_type == NLMSG_DONE) return bytes;
      if (one->nlmsg_type == NLMSG_ERROR) return std::nullopt;
      bytes += bytes_in(*one);
    }
  }
}

std::optional<std::uint64_t> ask_kernel() {
  const Fd kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
      const std::optional<std::uint64_t> some = ask_kernel(kernel, family, protocol);
      if (!some) return std::nullopt;
      bytes += *some;
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t SocketMemory::bytes(std::uint64_t room) noexcept {
  const Counts counts = count_sockets();
  const std::uint64_t network = counts.stream + counts.datagram;
  const std::uint64_t all = std::max(count_all_sockets(), network);
  const std::uint64_t local = beyond_usual(counts.local) + (all - std::min(all, usual)) * of_socket;
  const std::uint64_t most =
      counts.stream * (most_received + most_to_send) + counts.datagram * most_of_plain;
  if (local + most <= room) return local;
  return local + network_bytes(network);
}

// Now and then: the kernel goes through tables that are the machine's to answer that.
std::uint64_t SocketMemory::network_bytes(std::uint64_t count) noexcept {
  constexpr std::int64_t rest_for_work = 20;
  if (looks::now_ms() < next_ms_) return last_bytes_;
  const std::int64_t begin_us = looks::computed_us();
  last_bytes_ = ask_kernel().value_or(beyond_usual(count));
  next_ms_ = looks::now_ms() + rest_for_work * (looks::computed_us() - begin_us) / 1000;
  return last_bytes_;
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
// /proc/net: the sandbox's own loopback, in the formats of proc(5).
#include <fmt/format.h>

#include <iterator>

#include "kernel/kernel.h"
#include "kernel/proc/proc_text.h"
#include "kernel/sockets/socket_table.h"

namespace cloche::kernel::proc {
namespace {

constexpr int established = 1, closed = 7, listening = 10;  // as Linux numbers the states

// Words of four bytes, each as a number of a machine with the low byte first.
std::string hex_of(const IpAddress& ip, bool is_v6) {
  std::string text;
  for (std::size_t word = is_v6 ? 0 : 12; word < ip.bytes.size(); word += 4) {
    for (std::size_t byte = 4; byte-- > 0;)
      fmt::format_to(std::back_inserter(text), "{:02X}", ip.bytes[word + byte]);
  }
  return text;
}

std::string hex_of(const SocketAddress& address, bool is_v6) {
  const auto* inet = std::get_if<InetAddress>(&address);
  return fmt::format("{}:{:04X}", hex_of(inet ? inet->ip : IpAddress{}, is_v6),
                     inet ? inet->port : 0);
}

std::string table(const Process& process, SocketType type, SocketFamily family)
    REQUIRES(kernel_lock) {
  const bool is_v6 = family == SocketFamily::inet6;
  const std::string_view blanks = is_v6 ? "                        " : "";
  std::string text = fmt::format(
      "  sl  local_address{0} rem_address  {0} st tx_queue rx_queue tr tm->when retrnsmt   uid  "
      "timeout inode\n",
      blanks);
  int number = 0;
  process.kernel().sockets().ports(type).for_each([&](Socket& socket) REQUIRES(kernel_lock) {
    if (socket.family() != family) return;
    const Result<SocketAddress> peer = socket.peer_address();
    const int state = socket.listening() ? listening : peer ? established : closed;
    const Result<vfs::Stat> about = socket.stat();
    fmt::format_to(std::back_inserter(text),
                   "{:4}: {} {} {:02X} 00000000:{:08X} 00:00000000 00000000 {:5}        0 {} 1 "
                   "0000000000000000 100 0 0 10 0\n",
                   number++, hex_of(socket.local_address(), is_v6),
                   hex_of(peer ? *peer : SocketAddress{}, is_v6), state,
                   socket.listening() ? 0 : socket.readable_bytes(), about ? about->uid : 0,
                   about ? about->ino : 0);
  });
  return text;
}

}  // namespace

std::string process_net_dev(const Process&) {
  return "Inter-|   Receive                                                |  Transmit\n"
         " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
         "drop fifo colls "
         "carrier compressed\n";
}

std::string process_net_tcp(const Process& process) {
  return table(process, SocketType::stream, SocketFamily::inet);
}
std::string process_net_tcp6(const Process& process) {
  return table(process, SocketType::stream, SocketFamily::inet6);
}
std::string process_net_udp(const Process& process) {
  return table(process, SocketType::datagram, SocketFamily::inet);
}
std::string process_net_udp6(const Process& process) {
  return table(process, SocketType::datagram, SocketFamily::inet6);
}

}  // namespace cloche::kernel::proc

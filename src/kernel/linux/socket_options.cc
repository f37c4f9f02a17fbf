// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/socket_options.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/linux/guest_time.h"

namespace cloche::kernel::lnx {
namespace {

// Our own: option 1 begins TLS, see Socket::start_tls.
constexpr std::int32_t level_cloche = 0x1000, cloche_start_tls = 1;
constexpr std::int32_t level_ip = 0, level_socket = 1, level_tcp = 6, level_ipv6 = 41;

constexpr std::int32_t so_type = 3, so_error = 4, so_sndbuf = 7, so_rcvbuf = 8, so_linger = 13,
                       so_peercred = 17, so_rcvtimeo_old = 20, so_sndtimeo_old = 21,
                       so_acceptconn = 30, so_protocol = 38, so_domain = 39, so_rcvtimeo = 66,
                       so_sndtimeo = 67;

enum class Applies { all, tcp, inet, inet6 };

// Options that are numbers, kept in SocketOptions.
struct NumberOption {
  std::int32_t level;
  std::int32_t name;
  std::int32_t SocketOptions::* member;
  std::int32_t lowest;
  std::int32_t highest;
  bool is_flag;  // any number but 0 is 1
  Applies applies;
};

constexpr std::int32_t any_number = 0x7fffffff;

constexpr auto number_options = std::to_array<NumberOption>({
    {level_socket, 2, &SocketOptions::reuse_address, 0, 0, true, Applies::all},
    {level_socket, 5, &SocketOptions::dont_route, 0, 0, true, Applies::all},
    {level_socket, 6, &SocketOptions::broadcast, 0, 0, true, Applies::all},
    {level_socket, 9, &SocketOptions::keep_alive, 0, 0, true, Applies::all},
    {level_socket, 10, &SocketOptions::oob_inline, 0, 0, true, Applies::all},
    {level_socket, 12, &SocketOptions::priority, 0, 6, false, Applies::all},
    {level_socket, 15, &SocketOptions::reuse_port, 0, 0, true, Applies::all},
    {level_socket, 16, &SocketOptions::pass_credentials, 0, 0, true, Applies::all},
    {level_socket, 18, &SocketOptions::receive_low, 0, any_number, false, Applies::all},
    {level_tcp, 1, &SocketOptions::no_delay, 0, 0, true, Applies::tcp},
    {level_tcp, 3, &SocketOptions::cork, 0, 0, true, Applies::tcp},
    {level_tcp, 4, &SocketOptions::keep_idle_s, 1, 32767, false, Applies::tcp},
    {level_tcp, 5, &SocketOptions::keep_interval_s, 1, 32767, false, Applies::tcp},
    {level_tcp, 6, &SocketOptions::keep_count, 1, 127, false, Applies::tcp},
    {level_tcp, 12, &SocketOptions::quick_ack, 0, 0, true, Applies::tcp},
    {level_tcp, 18, &SocketOptions::user_timeout_ms, 0, any_number, false, Applies::tcp},
    {level_ip, 1, &SocketOptions::type_of_service, 0, 255, false, Applies::inet},
    {level_ip, 2, &SocketOptions::time_to_live, 1, 255, false, Applies::inet},
    {level_ipv6, 16, &SocketOptions::time_to_live, 1, 255, false, Applies::inet6},
    {level_ipv6, 26, &SocketOptions::v6_only, 0, 0, true, Applies::inet6},
    {level_ipv6, 67, &SocketOptions::type_of_service, 0, 255, false, Applies::inet6},
});

bool applies_to(const Socket& socket, Applies applies) {
  const bool inet = socket.family() != SocketFamily::local;
  switch (applies) {
    case Applies::all: return true;
    case Applies::tcp: return inet && socket.type() == SocketType::stream;
    case Applies::inet: return inet;
    case Applies::inet6: return socket.family() == SocketFamily::inet6;
  }
  return false;
}

const NumberOption* find_number(const Socket& socket, std::int32_t level, std::int32_t name) {
  const auto found = std::ranges::find_if(number_options, [&](const NumberOption& option) {
    return option.level == level && option.name == name;
  });
  return found != number_options.end() && applies_to(socket, found->applies) ? &*found : nullptr;
}

// --- Setting ---

struct GuestLinger {
  std::int32_t on, seconds;
};

struct OldTimeval {
  std::int32_t s, us;
};

struct Timeval {
  std::int64_t s, us;
};

template <typename T>
Result<T> read_value(const Call& call) {
  if (call.i32(4) < static_cast<std::int32_t>(sizeof(T))) return Errno::inval;
  return call.memory.read<T>(call.u32(3));
}

Result<Nanoseconds> to_timeout(std::int64_t s, std::int64_t us) {
  if (us < 0 || us >= 1'000'000) return Errno::dom;
  // A negative timeout is one that has passed; the shortest possible one does the same.
  if (s < 0) return Nanoseconds(1);
  constexpr std::int64_t longest_s = 100LL * 365 * 86400;
  return std::chrono::seconds(std::min(s, longest_s)) + std::chrono::microseconds(us);
}

Result<Nanoseconds> read_timeout_value(const Call& call, std::int32_t name) {
  if (name == so_rcvtimeo_old || name == so_sndtimeo_old) {
    CLOCHE_ASSIGN(const OldTimeval value, read_value<OldTimeval>(call));
    return to_timeout(value.s, value.us);
  }
  CLOCHE_ASSIGN(const Timeval value, read_value<Timeval>(call));
  return to_timeout(value.s, value.us);
}

// What is asked for counts double, as on Linux, where half of it is for overhead.
std::int32_t buffer_size(std::int32_t wanted, std::int32_t lowest) {
  constexpr std::int32_t most = static_cast<std::int32_t>(MessageQueue::default_limit_bytes);
  return std::max(std::clamp(wanted, 0, most) * 2, lowest);
}

Result<void> set_special(const Call& call, Socket& socket, std::int32_t name) {
  SocketOptions& options = socket.options();
  switch (name) {
    case so_sndbuf: {
      CLOCHE_ASSIGN(const std::int32_t value, read_value<std::int32_t>(call));
      options.send_bytes = buffer_size(value, 4608);
      socket.buffers_changed();
      return {};
    }
    case so_rcvbuf: {
      CLOCHE_ASSIGN(const std::int32_t value, read_value<std::int32_t>(call));
      options.receive_bytes = buffer_size(value, 2304);
      socket.buffers_changed();
      return {};
    }
    case so_linger: {
      CLOCHE_ASSIGN(const GuestLinger value, read_value<GuestLinger>(call));
      options.linger_on = value.on != 0 ? 1 : 0;
      options.linger_s = value.seconds;
      return {};
    }
    case so_rcvtimeo_old:
    case so_rcvtimeo: {
      CLOCHE_ASSIGN(options.receive_timeout, read_timeout_value(call, name));
      return {};
    }
    case so_sndtimeo_old:
    case so_sndtimeo: {
      CLOCHE_ASSIGN(options.send_timeout, read_timeout_value(call, name));
      return {};
    }
    default: return Errno::noprotoopt;
  }
}

// --- Getting ---

// Writes as much of the value as the guest has room for, and its length.
template <typename T>
SysResult give(const Call& call, const T& value) {
  CLOCHE_ASSIGN(const std::int32_t room, call.memory.read<std::int32_t>(call.u32(4)));
  if (room < 0) return Errno::inval;
  const std::size_t count = std::min(sizeof(T), static_cast<std::size_t>(room));
  CLOCHE_TRY(call.memory.copy_out(call.u32(3), std::as_bytes(std::span(&value, 1)).first(count)));
  CLOCHE_TRY(call.memory.write(call.u32(4), static_cast<std::int32_t>(count)));
  return 0;
}

SysResult give_timeout(const Call& call, Nanoseconds time, bool old) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  if (!old) return give(call, Timeval{us / 1'000'000, us % 1'000'000});
  return give(call, OldTimeval{static_cast<std::int32_t>(us / 1'000'000),
                               static_cast<std::int32_t>(us % 1'000'000)});
}

SysResult get_special(const Call& call, Socket& socket, std::int32_t name) {
  const SocketOptions& options = socket.options();
  switch (name) {
    case so_type: return give(call, static_cast<std::int32_t>(socket.type()));
    case so_error: return give(call, socket.take_error());
    case so_sndbuf: return give(call, options.send_bytes);
    case so_rcvbuf: return give(call, options.receive_bytes);
    case so_linger: return give(call, GuestLinger{options.linger_on, options.linger_s});
    case so_peercred: {
      // A socket without a peer has the credentials of nobody.
      const PeerCredentials peer = socket.peer_credentials().value_or(PeerCredentials{});
      return give(call, peer);
    }
    case so_rcvtimeo_old:
    case so_rcvtimeo: return give_timeout(call, options.receive_timeout, name == so_rcvtimeo_old);
    case so_sndtimeo_old:
    case so_sndtimeo: return give_timeout(call, options.send_timeout, name == so_sndtimeo_old);
    case so_acceptconn: return give(call, std::int32_t{socket.listening() ? 1 : 0});
    case so_protocol: return give(call, socket.protocol());
    case so_domain: return give(call, static_cast<std::int32_t>(socket.family()));
    default: return Errno::noprotoopt;
  }
}

}  // namespace

Result<std::shared_ptr<Socket>> socket_at(const Call& call, std::size_t argument) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(argument)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  auto socket = std::dynamic_pointer_cast<Socket>(file);
  if (!socket) return Errno::notsock;
  return socket;
}

SysResult setsockopt(Call& call) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, 0));
  const std::int32_t level = call.i32(1);
  const std::int32_t name = call.i32(2);
  if (call.i32(4) < 0) return Errno::inval;
  if (const NumberOption* option = find_number(*socket, level, name)) {
    CLOCHE_ASSIGN(const std::int32_t value, read_value<std::int32_t>(call));
    if (!option->is_flag && (value < option->lowest || value > option->highest))
      return Errno::inval;
    socket->options().*option->member = option->is_flag ? (value != 0 ? 1 : 0) : value;
    return 0;
  }
  if (level == level_cloche && name == cloche_start_tls) {
    constexpr std::uint32_t max_request = 16384;
    if (call.u32(4) > max_request) return Errno::inval;
    CLOCHE_ASSIGN(const std::span<std::byte> request, call.memory.slice(call.u32(3), call.u32(4)));
    const std::string text(reinterpret_cast<const char*>(request.data()), request.size());
    CLOCHE_TRY(socket->start_tls(text));
    return 0;
  }
  if (level != level_socket)
    return level == level_tcp && socket->family() == SocketFamily::local ? Errno::notsup
                                                                         : Errno::noprotoopt;
  CLOCHE_TRY(set_special(call, *socket, name));
  return 0;
}

SysResult getsockopt(Call& call) {
  CLOCHE_ASSIGN(const std::shared_ptr<Socket> socket, socket_at(call, 0));
  const std::int32_t level = call.i32(1);
  const std::int32_t name = call.i32(2);
  if (const NumberOption* option = find_number(*socket, level, name)) {
    return give(call, std::int32_t{socket->options().*option->member});
  }
  if (level != level_socket)
    return level == level_tcp && socket->family() == SocketFamily::local ? Errno::notsup
                                                                         : Errno::noprotoopt;
  return get_special(call, *socket, name);
}

}  // namespace cloche::kernel::lnx

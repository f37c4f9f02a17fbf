// SPDX-License-Identifier: Apache-2.0
// InetPorts: who has which port of the sandbox's loopback, for one transport. Kernel lock held.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "kernel/sockets/address.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Socket;

class InetPorts {
 public:
  static constexpr std::uint16_t first_ephemeral = 32768, last_ephemeral = 60999,
                                 first_unprivileged = 1024;

  // Claims the port for the socket, a free ephemeral one for 0. EADDRINUSE when another has it at
  // an address that overlaps, unless both allow that (SO_REUSEPORT, or SO_REUSEADDR with nobody
  // listening); EACCES for a privileged one; EADDRNOTAVAIL for an address that is not of this host.
  Result<std::uint16_t> claim(Socket& socket, const IpAddress& ip, std::uint16_t port);
  void release(const Socket& socket) noexcept;

  // Who receives what is sent to that address: a listening stream socket, or a datagram socket;
  // null: nobody.
  enum class Wanted { listening, any };
  Socket* find(const IpAddress& ip, std::uint16_t port, Wanted wanted) const;

  // All that have one, by port.
  template <typename Visit>  // void(Socket&)
  void for_each(Visit visit) const REQUIRES(kernel_lock) {
    for (const auto& [port, claim] : claims_) visit(*claim.socket);
  }

 private:
  struct Claim {
    IpAddress ip;
    Socket* socket;
  };

  bool conflicts(Socket& socket, const IpAddress& ip, std::uint16_t port) const;

  std::multimap<std::uint16_t, Claim> claims_;
  std::uint16_t next_ephemeral_ = first_ephemeral;
};

}  // namespace cloche::kernel

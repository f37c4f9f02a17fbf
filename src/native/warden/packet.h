// SPDX-License-Identifier: Apache-2.0
// Records over a SOCK_SEQPACKET socket, with descriptors beside them.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "native/warden/wire.h"

namespace cloche::warden {

// A record that was received. Descriptors that nobody takes are closed.
class Packet {
 public:
  Packet() = default;
  ~Packet();
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  std::size_t fd_count() const noexcept { return fd_count_; }
  // The descriptor, which is the caller's from now on; -1: there is none.
  int take_fd(std::size_t index) noexcept;

 private:
  friend long receive(int socket, std::span<std::byte> to, Packet& packet, int flags) noexcept;
  std::array<int, most_fds> fds_{};
  std::size_t fd_count_ = 0;
};

// The size of the next record; 0: the other end is gone; -1 with errno, EMSGSIZE for one that does
// not fit or has too many descriptors. `flags` as of recvmsg.
long receive(int socket, std::span<std::byte> to, Packet& packet, int flags = 0) noexcept;

// From now on nobody can send any descriptors there: that is EPERM. From Linux 6.16 on; before, it
// does nothing.
void take_no_descriptors(int socket) noexcept;

// False with errno. Never SIGPIPE.
bool send(int socket, std::span<const std::span<const std::byte>> parts, std::span<const int> fds,
          int flags = 0) noexcept;

template <typename Record>
bool send_record(int socket, const Record& record, std::span<const int> fds = {},
                 int flags = 0) noexcept {
  const std::array parts{std::as_bytes(std::span(&record, 1))};
  return send(socket, std::span<const std::span<const std::byte>>(parts.data(), parts.size()), fds,
              flags);
}

// False with errno: EPIPE when the other end is gone, EBADMSG for a record of another size.
template <typename Record>
bool receive_record(int socket, Record& record, Packet& packet, int flags = 0) noexcept {
  const long got = receive(socket, std::as_writable_bytes(std::span(&record, 1)), packet, flags);
  if (got == static_cast<long>(sizeof(Record))) return true;
  if (got >= 0) errno = got == 0 ? EPIPE : EBADMSG;
  return false;
}

}  // namespace cloche::warden

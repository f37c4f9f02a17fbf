// SPDX-License-Identifier: Apache-2.0
// Questions: calls that guests make and that wait for an answer, by seccomp's user notification:
// connect, mmap of memory that processes share without a file, and setsockopt of the sizes of
// buffers. Whoever begins it, and all that it starts, is asked about. What is copied of a guest is
// looked at here; it may be something else by then in the guest, so that nothing but the copy is
// acted upon.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

#include "native/warden/fd.h"

namespace cloche::warden {

// An address of any kind, as a program has given it.
struct SocketName {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
};

struct Question {
  enum class Call : std::uint8_t { connect, map, buffer };

  std::uint64_t id = 0;
  pid_t thread = 0;
  Call call = Call::connect;
  std::array<std::uint64_t, 5> arguments{};
  // Of connect, when it was looked at.
  SocketName to;
  Fd socket;  // the guest's own; none: it is none, or is not to be had
};

class Questions {
 public:
  // A connect whose address has this length is not asked about: it is pid 1's own. No program has a
  // reason to take it, and one that does gets no further than the loopback: nothing else is there.
  static constexpr socklen_t own_length = 127;

  // What a socket may keep for each direction is twice that, as it is on most machines; the kernel
  // of others would give a guest buffers of megabytes, of which it counts nothing.
  static constexpr std::uint32_t most_buffer = 212'992;

  // False with errno: this kernel has it not, or somebody else asks already.
  bool begin() noexcept;

  int fd() const noexcept { return listener_.get(); }
  // False: there is none.
  bool take(Question& question) const noexcept;
  // Copies what a connect is about. False: nobody waits for its answer any more.
  bool look(Question& question) const noexcept;
  // Whether the call still waits.
  bool is_open(std::uint64_t id) const noexcept;
  // The call returns 0, or fails with this errno. These two let go of the socket first: when the
  // call has returned nobody has it but the guest, whose `close` is the last. Where the guest has
  // closed it before, that does not wait for what the socket has to send.
  void answer(Question& question, int error) const noexcept;
  // The call is made by the kernel.
  void let_go(Question& question) const noexcept;
  // The size of a buffer is set, to `most_buffer` at most.
  void size_buffer(Question& question) const noexcept;

 private:
  int set_size(const Question& question) const noexcept;

  Fd listener_;
  // With which pid 1 makes that call itself, in an argument that the kernel does not look at: who
  // is asked about would wait for himself. No guest can read it, nor guess it.
  std::uint64_t secret_ = 0;
};

}  // namespace cloche::warden

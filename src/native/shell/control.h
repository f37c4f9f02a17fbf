// SPDX-License-Identifier: Apache-2.0
// Control: the shell's end of the socket to Cloche. Its descriptor is far from those that scripts
// use, no program inherits it, and children of the shell close it. A script that closes it or
// writes to it ends or deceives its own shell, and nobody else.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "native/caller/system.h"
#include "native/shell/shell_wire.h"

namespace cloche::shell {

using caller::address_of;
using caller::system_call;
using caller::word_of;

inline constexpr int most_files = 4;

struct Limit {
  unsigned long now, most;
};

// A copy of the descriptor that is far above those of scripts; or a negative errno.
inline long move_away(int fd) {
  constexpr unsigned long usual = 1024, room = 8;
  Limit files{};
  (void)system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, address_of(&files));
  const unsigned long top = files.now < usual ? files.now : usual;
  return system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, top > 2 * room ? word_of(top - room) : 0);
}

class Control {
 public:
  // A negative errno: it cannot be had.
  long take(int fd) {
    const long moved = move_away(fd);
    if (moved >= 0) fd_ = static_cast<int>(moved);
    return moved;
  }
  void close() const { system_call(SYS_close, fd_); }

  struct Message {
    Request request;
    char frame[packet_bytes];
  };
  struct Files {
    int fds[most_files];
    int count;
  };

  // Waits for what Cloche says next; without Cloche the shell ends.
  void receive(Message& message, Files& files) const {
    alignas(8) char beside[128] = {};
    for (;;) {
      iovec whole{&message, sizeof message};
      msghdr head{};
      head.msg_iov = &whole;
      head.msg_iovlen = 1;
      head.msg_control = beside;
      head.msg_controllen = sizeof beside;
      const long got = system_call(SYS_recvmsg, fd_, address_of(&head), MSG_CMSG_CLOEXEC);
      if (got == -EINTR) continue;
      files.count = 0;
      if (got < word_of(sizeof message.request)) caller::leave(0);
      for (const cmsghdr* one = CMSG_FIRSTHDR(&head); one != nullptr; one = next_of(head, one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        const int* const fds = reinterpret_cast<const int*>(CMSG_DATA(one));
        const unsigned long count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (unsigned long i = 0; i < count; ++i) add(files, fds[i]);
      }
      return;
    }
  }

  void tell(Tell what, std::int32_t value, std::uint64_t number) const {
    const Answer answer{what, value, number};
    for (;;) {
      const long done =
          system_call(SYS_sendto, fd_, address_of(&answer), sizeof answer, MSG_NOSIGNAL);
      if (done == -EINTR) continue;
      if (done != word_of(sizeof answer)) caller::leave(0);
      return;
    }
  }

 private:
  static const cmsghdr* next_of(const msghdr& head, const cmsghdr* one) {
    const char* const next = reinterpret_cast<const char*>(one) + CMSG_ALIGN(one->cmsg_len);
    const char* const end = static_cast<const char*>(head.msg_control) + head.msg_controllen;
    return next + sizeof(cmsghdr) <= end ? reinterpret_cast<const cmsghdr*>(next) : nullptr;
  }
  static void add(Files& files, int fd) {
    if (files.count < most_files) {
      files.fds[files.count++] = fd;
    } else {
      system_call(SYS_close, fd);
    }
  }

  int fd_ = -1;
};

}  // namespace cloche::shell

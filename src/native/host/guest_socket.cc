// SPDX-License-Identifier: Apache-2.0
#include "native/host/guest_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "native/warden/packet.h"

namespace cloche::native {
namespace {

constexpr std::size_t most_beside = 253;  // of a message, as Linux has it

void close_at_once(int fd) noexcept {
  const linger no_wait{.l_onoff = 0, .l_linger = 0};
  (void)::setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_wait, sizeof no_wait);
  ::close(fd);
}

}  // namespace

Result<Sockets> make_guest_sockets(int type) {
  CLOCHE_ASSIGN(Sockets made, make_sockets(type));
  warden::take_no_descriptors(made.ours.get());
  return made;
}

ssize_t receive_bytes(int socket, void* to, std::size_t size, int flags) noexcept {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_beside * sizeof(int))> control;
  iovec part{to, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  for (cmsghdr* head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at < head->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + (at - CMSG_LEN(0)), sizeof fd);
      close_at_once(fd);
    }
  }
  return got;
}

}  // namespace cloche::native

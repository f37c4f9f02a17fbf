// SPDX-License-Identifier: Apache-2.0
#include "native/warden/packet.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cloche::warden {
namespace {

constexpr std::size_t most_parts = 4;
static_assert(CMSG_SPACE(most_fds * sizeof(int)) == CMSG_LEN(most_fds * sizeof(int)),
              "with its padding there would be room for one more, which nobody closes");

}  // namespace

Packet::~Packet() {
  for (std::size_t i = 0; i < fd_count_; ++i) {
    if (fds_[i] >= 0) ::close(fds_[i]);
  }
}

int Packet::take_fd(std::size_t index) noexcept {
  return index < fd_count_ ? std::exchange(fds_[index], -1) : -1;
}

long receive(int socket, std::span<std::byte> to, Packet& packet, int flags) noexcept {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_fds * sizeof(int))> control{};
  iovec part{to.data(), to.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -1;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && packet.fd_count_ < most_fds; ++i) {
      std::memcpy(&packet.fds_[packet.fd_count_], CMSG_DATA(head) + i * sizeof(int), sizeof(int));
      ++packet.fd_count_;
    }
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) return got;
  errno = EMSGSIZE;
  return -1;
}

void take_no_descriptors(int socket) noexcept {
  constexpr int pass_rights = 83;  // SO_PASSRIGHTS
  const int none = 0;
  (void)::setsockopt(socket, SOL_SOCKET, pass_rights, &none, sizeof none);
}

bool send(int socket, std::span<const std::span<const std::byte>> parts, std::span<const int> fds,
          int flags) noexcept {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most_fds * sizeof(int))> control{};
  std::array<iovec, most_parts> vector{};
  if (parts.size() > most_parts || fds.size() > most_fds) {
    errno = EMSGSIZE;
    return false;
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    vector[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    size += parts[i].size();
  }
  msghdr message{};
  message.msg_iov = vector.data();
  message.msg_iovlen = parts.size();
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

}  // namespace cloche::warden

// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/host_error.h"

namespace cloche {
namespace {

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int));

}  // namespace

std::pair<UniqueFd, UniqueFd> make_channel() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw HostError::from_errno("cannot make a channel to another process", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

int send_message(int channel, std::string_view text, int descriptor) noexcept {
  CLOCHE_CHECK(!text.empty() && text.size() <= channel_message_max_bytes);
  iovec piece{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, control_bytes> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  for (;;) {
    if (::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

std::optional<ChannelMessage> receive_message(int channel) {
  std::array<char, channel_message_max_bytes> text{};
  iovec piece{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, control_bytes> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // For exactly one descriptor: with its padding there would be room for a second one.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  ssize_t size = 0;
  do {
    size = ::recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  ChannelMessage received{std::string(text.data(), static_cast<std::size_t>(size)), UniqueFd()};
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    received.descriptor = UniqueFd(descriptor);
  }
  return received;
}

}  // namespace cloche

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_call.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/result.h"
#include "native/host/guest_socket.h"

namespace cloche::sandbox {
namespace {

using warden::CallAsk;
using warden::CallHead;
using warden::CallOrder;
using warden::CallReply;

constexpr int errno_max = 4095;
constexpr std::size_t taken_at_once = 64 << 10;

bool is_sane(const CallHead& head) {
  return head.version == warden::call_version && head.bytes <= warden::most_call_bytes &&
         head.bytes > head.arguments && head.bytes > head.variables &&
         std::size_t{head.arguments} + head.variables < head.bytes;
}

}  // namespace

bool CallRoom::take(std::size_t bytes) noexcept {
  if (taken_.fetch_add(bytes) + bytes <= limit_bytes) return true;
  taken_ -= bytes;
  return false;
}

NativeCall::NativeCall(int socket, CallRoom& room)
    : socket_(socket), room_(room), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

NativeCall::~NativeCall() { room_.give_back(taken_); }

bool NativeCall::begin() {
  CallHead head;
  if (!wake_ || !receive(&head, sizeof head) || !is_sane(head)) return false;
  const std::size_t strings = std::size_t{head.arguments} + head.variables;
  const std::size_t room = 2 * std::size_t{head.bytes} + strings * sizeof(std::string);
  if (!room_.take(room)) return false;
  taken_ = room;
  std::string text;
  while (text.size() < head.bytes) {
    const std::size_t at = text.size();
    text.resize(std::min<std::size_t>(head.bytes, at + taken_at_once));
    if (!receive(text.data() + at, text.size() - at)) return false;
  }
  if (text.back() != '\0' ||
      static_cast<std::size_t>(std::ranges::count(text, '\0')) != strings + 1)
    return false;
  std::string_view rest(text);
  const auto next = [&rest] {
    const std::string string(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(string.size() + 1);
    return string;
  };
  directory_ = next();
  argv_.reserve(head.arguments);
  environment_.reserve(head.variables);
  for (std::uint32_t i = 0; i < head.arguments; ++i) argv_.push_back(next());
  for (std::uint32_t i = 0; i < head.variables; ++i) environment_.push_back(next());
  return true;
}

void NativeCall::leave(int status) {
  (void)ask(CallOrder::leave, static_cast<std::uint32_t>(status) & 0xff);
}

bool NativeCall::send(const void* bytes, std::size_t size, int flags) noexcept {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::send(socket_, from, size, MSG_NOSIGNAL | flags);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

bool NativeCall::ask(CallOrder order, std::uint32_t number, std::uint32_t stream,
                     int flags) noexcept {
  const CallAsk asked{.order = order, .stream = stream, .number = number};
  return send(&asked, sizeof asked, flags);
}

bool NativeCall::receive(void* bytes, std::size_t size) noexcept {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t done = native::receive_bytes(socket_, to, size, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

Errno NativeCall::break_off() noexcept {
  (void)::shutdown(socket_, SHUT_RDWR);
  return Errno::canceled;
}

Result<std::uint32_t> NativeCall::take_reply(std::uint32_t most) noexcept {
  CallReply reply;
  if (!receive(&reply, sizeof reply)) return break_off();
  if (reply.value < 0 && reply.value >= -errno_max) return errno_from_host(-reply.value);
  if (reply.value < 0 || static_cast<std::uint32_t>(reply.value) > most) return break_off();
  return static_cast<std::uint32_t>(reply.value);
}

Result<std::size_t> NativeCall::read(std::span<char> to) {
  const auto size = static_cast<std::uint32_t>(std::min(to.size(), warden::most_call_piece));
  if (size == 0) return std::size_t{0};
  if (!ask(CallOrder::read, size)) return break_off();
  CLOCHE_ASSIGN(const std::uint32_t count, take_reply(size));
  if (!receive(to.data(), count)) return break_off();
  return std::size_t{count};
}

Result<void> NativeCall::write(Stream stream, std::string_view bytes) {
  const std::uint32_t number = stream == Stream::out ? 1 : 2;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, warden::most_call_piece);
    const auto size = static_cast<std::uint32_t>(piece.size());
    if (!ask(CallOrder::write, size, number, MSG_MORE) || !send(piece.data(), piece.size()))
      return break_off();
    CLOCHE_TRY(take_reply(0));
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Result<CommandCall::Ready> NativeCall::wait(const CommandCall::Ready& wanted) {
  using namespace warden::call_ready;
  const std::uint32_t which =
      (wanted.input ? input : 0) | (wanted.out ? out : 0) | (wanted.err ? err : 0);
  if (!ask(CallOrder::wait, which)) return break_off();
  bool has_enough = false;
  std::uint64_t calls = 0;
  for (;;) {
    std::array<pollfd, 2> waiting{
        {{socket_, POLLIN, 0}, {has_enough ? -1 : wake_.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return break_off();
    if (waiting[0].revents != 0) break;
    if (waiting[1].revents == 0) continue;
    has_enough = true;
    if (!ask(CallOrder::enough, 0)) return break_off();
  }
  (void)!::read(wake_.get(), &calls, sizeof calls);
  CLOCHE_ASSIGN(const std::uint32_t ready, take_reply(which));
  return CommandCall::Ready{.input = (ready & which & input) != 0,
                            .out = (ready & which & out) != 0,
                            .err = (ready & which & err) != 0};
}

void NativeCall::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "net/kernel_stream.h"

#include <atomic>

namespace cloche::net {
namespace {

// What the guest sees as its own address: nothing of the host.
kernel::InetAddress guest_address(const kernel::InetAddress& to) {
  static std::atomic<std::uint16_t> next{0};
  kernel::InetAddress own;
  own.family = to.family;
  if (to.ip.is_v4()) {
    own.ip = kernel::IpAddress::v4({10, 0, 2, 15});
  } else {
    own.ip.bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0f};
  }
  constexpr unsigned first = 32768, count = 28000;
  own.port = static_cast<std::uint16_t>(first + next++ % count);
  return own;
}

}  // namespace

void KernelStream::set_listener(Listener* listener) {
  listener_ = listener;
  stream_->set_listener(own_end, listener == nullptr ? nullptr : this);
}

void KernelStream::stream_changed() noexcept {
  if (listener_ != nullptr) listener_->guest_changed();
}

void KernelStream::established(const kernel::InetAddress& far) {
  if (const auto attempt = attempt_.lock()) attempt->established(guest_address(far));
}

void KernelStream::failed(Errno error) {
  if (const auto attempt = attempt_.lock()) attempt->failed(error);
  stream_->close(own_end);
}

Result<std::size_t> KernelStream::receive(std::span<std::byte> to) {
  const Result<kernel::Received> received = stream_->receive(own_end, {&to, 1}, 0);
  if (received) return received->count;
  // A reset is an end, too.
  return received.error() == Errno::again ? Result<std::size_t>(Errno::again)
                                          : Result<std::size_t>(0);
}

Result<std::size_t> KernelStream::send(std::span<const std::byte> from) {
  kernel::Ancillary none;
  return stream_->send(own_end, {&from, 1}, 0, none);
}

}  // namespace cloche::net

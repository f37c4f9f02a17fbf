// SPDX-License-Identifier: Apache-2.0
// KernelStream: the guest's side of a connection that a guest of the sandbox's kernel has made. The
// network's lock is the kernel's.
#pragma once

#include <memory>

#include "kernel/sockets/outbound.h"
#include "kernel/time/kernel_lock.h"
#include "net/guest_stream.h"

namespace cloche::net {

class KernelStream final : public GuestStream, private kernel::StreamListener {
 public:
  // The far end of `stream` is this one.
  KernelStream(std::shared_ptr<kernel::StreamConnection> stream,
               std::weak_ptr<kernel::OutboundAttempt> attempt)
      : stream_(std::move(stream)), attempt_(std::move(attempt)) {}

  void set_listener(Listener* listener) override;
  void established(const kernel::InetAddress& far) override REQUIRES(kernel::kernel_lock);
  void failed(Errno error) override REQUIRES(kernel::kernel_lock);
  Result<std::size_t> receive(std::span<std::byte> to) override REQUIRES(kernel::kernel_lock);
  Result<std::size_t> send(std::span<const std::byte> from) override REQUIRES(kernel::kernel_lock);
  void shut_down_send() override REQUIRES(kernel::kernel_lock) { stream_->shut_down_send(own_end); }
  bool is_gone() const override { return stream_->peer_closed(own_end); }
  void close() override REQUIRES(kernel::kernel_lock) { stream_->close(own_end); }
  void abort() override REQUIRES(kernel::kernel_lock) { stream_->abort(own_end); }
  std::size_t waiting_bytes() const override { return stream_->incoming(own_end).size_bytes(); }
  bool has_unread() const override {
    return !stream_->incoming(kernel::StreamConnection::other(own_end)).empty();
  }
  bool is(const kernel::StreamConnection& stream) const override {
    return &stream == stream_.get();
  }

 private:
  static constexpr auto own_end = kernel::StreamConnection::End::second;

  void stream_changed() noexcept override REQUIRES(kernel::kernel_lock);

  const std::shared_ptr<kernel::StreamConnection> stream_;
  const std::weak_ptr<kernel::OutboundAttempt> attempt_;
  Listener* listener_ = nullptr;
};

}  // namespace cloche::net

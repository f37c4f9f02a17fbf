// SPDX-License-Identifier: Apache-2.0
// GuestSocket: the guest's side of a connection that a native program has made. The program's
// socket is connected to one of ours within the box, by the box's pid 1, once the far end is
// reached or the program does not wait for that; until then there is nothing to receive, and no
// room.
#pragma once

#include <functional>
#include <optional>

#include "base/descriptor_share.h"
#include "base/unique_fd.h"
#include "kernel/time/kernel_lock.h"
#include "net/guest_stream.h"

namespace cloche::net {

class GuestSocket final : public GuestStream {
 public:
  // Told once how the attempt ended. The network's lock is held.
  using Answer = std::function<void(Result<void> how)>;
  explicit GuestSocket(Answer answer) : answer_(std::move(answer)) {}

  // The network's lock is held: our end, non-blocking; or that the program does not want it any
  // more.
  void attach(UniqueFd socket, DescriptorShare::Permit place) REQUIRES(kernel::kernel_lock);
  void give_up() REQUIRES(kernel::kernel_lock);

  void set_listener(Listener* listener) override { listener_ = listener; }
  void established(const kernel::InetAddress& far) override REQUIRES(kernel::kernel_lock);
  void failed(Errno error) override REQUIRES(kernel::kernel_lock);
  Result<std::size_t> receive(std::span<std::byte> to) override REQUIRES(kernel::kernel_lock);
  Result<std::size_t> send(std::span<const std::byte> from) override REQUIRES(kernel::kernel_lock);
  void shut_down_send() override REQUIRES(kernel::kernel_lock);
  bool is_gone() const override { return is_over_; }
  void close() override REQUIRES(kernel::kernel_lock);
  void abort() override REQUIRES(kernel::kernel_lock);
  void acknowledge() override;
  std::size_t waiting_bytes() const override;
  int descriptor() const override { return socket_.get(); }

 private:
  void answer(Result<void> how);

  Answer answer_;
  UniqueFd socket_;
  std::optional<DescriptorShare::Permit> place_;  // of the socket
  Listener* listener_ = nullptr;
  bool no_more_is_sent_ = false;
  bool is_over_ = false;
};

}  // namespace cloche::net

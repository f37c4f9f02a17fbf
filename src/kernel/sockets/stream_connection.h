// SPDX-License-Identifier: Apache-2.0
// StreamConnection: two connected ends of a byte stream (or of a sequence of packets). Each end
// sends into the queue of the other. An end belongs to a StreamSocket, or to whoever stands for the
// world outside (see outbound.h). Kernel lock held.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "kernel/sockets/message_queue.h"
#include "kernel/sockets/socket.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

// Hears of what changes for an end, where that is no WaitQueue's business. Kernel lock held; must
// be quick.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  virtual void stream_changed() noexcept REQUIRES(kernel_lock) = 0;
};

class StreamConnection {
 public:
  // Who has which end is a matter of taste: the one that connected has the first.
  enum class End : std::size_t { first, second };
  static constexpr End other(End end) noexcept {
    return end == End::first ? End::second : End::first;
  }

  StreamConnection(std::shared_ptr<BufferBudget> budget, SocketType type);

  // Appends to what the other end receives: all of a packet or as much as fits of a stream. EPIPE
  // when the other end does not receive any more or this one has shut down, EAGAIN when there is no
  // room, EMSGSIZE for a packet that never fits. `skip` bytes of `from` are left out.
  Result<std::size_t> send(End from_end, Gather from, std::size_t skip, Ancillary& ancillary)
      REQUIRES(kernel_lock);
  // EAGAIN while nothing is there; 0 bytes at the end; ECONNRESET once when the other end left with
  // data unread.
  Result<Received> receive(End at_end, Scatter to, std::uint32_t flags) REQUIRES(kernel_lock);

  void shut_down_send(End end) REQUIRES(kernel_lock);
  void shut_down_receive(End end) REQUIRES(kernel_lock);
  // Both, for good. Unread data becomes a reset for the other end.
  void close(End end) REQUIRES(kernel_lock);
  // close() that is a reset for the other end in any case.
  void abort(End end) REQUIRES(kernel_lock);

  bool send_shut(End end) const noexcept { return side(end).send_shut; }
  bool receive_shut(End end) const noexcept { return side(end).receive_shut; }
  // Nothing more will come.
  bool at_end(End end) const noexcept {
    return side(end).receive_shut || side(other(end)).send_shut;
  }
  // Whether the other end has left with data unread, said once, here or by receive().
  bool take_reset(End end) noexcept { return std::exchange(side(end).reset, false); }
  bool peer_closed(End end) const noexcept { return side(other(end)).closed; }

  PollEvents poll(End end) const;
  const MessageQueue& incoming(End end) const noexcept { return side(end).incoming; }
  MessageQueue& incoming(End end) noexcept { return side(end).incoming; }

  // What the other end can know of this one.
  struct Identity {
    SocketAddress address;
    PeerCredentials credentials;
  };
  Identity& identity(End end) noexcept { return side(end).identity; }
  const Identity& identity(End end) const noexcept { return side(end).identity; }

  // Woken when something has changed for that end; null: nobody listens there. The owner of the
  // queue clears it before it ends.
  void set_queue(End end, WaitQueue* queue) noexcept { side(end).queue = queue; }
  // The same for a listener.
  void set_listener(End end, StreamListener* listener) noexcept { side(end).listener = listener; }

 private:
  struct Side {
    explicit Side(std::shared_ptr<BufferBudget> budget) : incoming(std::move(budget)) {}
    MessageQueue incoming;
    Identity identity;
    WaitQueue* queue = nullptr;
    StreamListener* listener = nullptr;
    bool send_shut = false;
    bool receive_shut = false;
    bool closed = false;
    bool reset = false;  // the next receive says so
  };

  Side& side(End end) noexcept { return end == End::first ? first_ : second_; }
  const Side& side(End end) const noexcept { return end == End::first ? first_ : second_; }
  void wake(End end) noexcept REQUIRES(kernel_lock);

  SocketType type_;
  Side first_;
  Side second_;
};

}  // namespace cloche::kernel

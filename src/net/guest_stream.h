// SPDX-License-Identifier: Apache-2.0
// GuestStream: the guest's side of a connection to the world outside: a stream of the sandbox's
// kernel (KernelStream), or a socket of a native program (GuestSocket). The network's lock is held
// for every call, and none waits.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "kernel/sockets/address.h"
#include "kernel/sockets/stream_connection.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::net {

class GuestStream {
 public:
  // Hears that there may be something to receive, or room, that no descriptor tells of. Network's
  // lock held; must be quick.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void guest_changed() noexcept REQUIRES(kernel::kernel_lock) = 0;
  };

  virtual ~GuestStream() = default;
  // Null: nobody.
  virtual void set_listener(Listener* listener) = 0;

  // The far end is reached; or it is not, and then the stream has ended.
  virtual void established(const kernel::InetAddress& far) REQUIRES(kernel::kernel_lock) = 0;
  virtual void failed(Errno error) REQUIRES(kernel::kernel_lock) = 0;

  // EAGAIN while nothing is there; 0 bytes at the end.
  virtual Result<std::size_t> receive(std::span<std::byte> to) REQUIRES(kernel::kernel_lock) = 0;
  // EAGAIN while there is no room; with another error the guest reads no more.
  virtual Result<std::size_t> send(std::span<const std::byte> from)
      REQUIRES(kernel::kernel_lock) = 0;
  // The guest has read all, and there is no more.
  virtual void shut_down_send() REQUIRES(kernel::kernel_lock) = 0;
  // Nobody has the guest's end any more.
  virtual bool is_gone() const = 0;
  // The end: in order, or as a reset.
  virtual void close() REQUIRES(kernel::kernel_lock) = 0;
  virtual void abort() REQUIRES(kernel::kernel_lock) = 0;

  // Something of its own waits for room.
  virtual bool has_unsent() const { return false; }

  // Says at once that what the guest has sent has come: it may wait for that before it sends more.
  virtual void acknowledge() {}

  // How much there is to receive.
  virtual std::size_t waiting_bytes() const = 0;
  // Whether the guest has not read all that was sent; false where that is not known.
  virtual bool has_unread() const { return false; }
  // What to watch for readiness; -1: the listener is told.
  virtual int descriptor() const { return -1; }
  virtual bool is(const kernel::StreamConnection&) const { return false; }
};

}  // namespace cloche::net

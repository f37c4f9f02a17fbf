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

namespace cloche::net {

class GuestStream {
 public:
  // Hears that there may be something to receive, or room, that no descriptor tells of. Network's
  // lock held; must be quick.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void guest_changed() noexcept = 0;
  };

  virtual ~GuestStream() = default;
  // Null: nobody.
  virtual void set_listener(Listener* listener) = 0;

  // The far end is reached; or it is not, and then the stream has ended.
  virtual void established(const kernel::InetAddress& far) = 0;
  virtual void failed(Errno error) = 0;

  // EAGAIN while nothing is there; 0 bytes at the end.
  virtual Result<std::size_t> receive(std::span<std::byte> to) = 0;
  // EAGAIN while there is no room; with another error the guest reads no more.
  virtual Result<std::size_t> send(std::span<const std::byte> from) = 0;
  // The guest has read all, and there is no more.
  virtual void shut_down_send() = 0;
  // Nobody has the guest's end any more.
  virtual bool is_gone() const = 0;
  // The end: in order, or as a reset.
  virtual void close() = 0;
  virtual void abort() = 0;

  // How much there is to receive.
  virtual std::size_t waiting_bytes() const = 0;
  // What to watch for readiness; -1: the listener is told.
  virtual int descriptor() const { return -1; }
  virtual bool is(const kernel::StreamConnection&) const { return false; }
};

}  // namespace cloche::net

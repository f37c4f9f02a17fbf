// SPDX-License-Identifier: Apache-2.0
// Outbound: where TCP connections to anywhere but the sandbox's own loopback go, and queries for
// names. Without one every such connection is ENETUNREACH, and nobody answers queries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/sockets/address.h"
#include "kernel/sockets/stream_connection.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

// What the network layer gets of a connection that a guest asks for: the far end (End::second of
// `stream`), and the way to tell how the attempt ended. Kernel lock held for every call; nothing
// may be called after the kernel has ended.
class OutboundAttempt {
 public:
  virtual ~OutboundAttempt() = default;
  // The guest's side is connected, and has `local` as its address.
  virtual void established(const InetAddress& local) REQUIRES(kernel_lock) = 0;
  virtual void failed(Errno error) REQUIRES(kernel_lock) = 0;
};

class Outbound {
 public:
  virtual ~Outbound() = default;

  // Kernel lock held; must not block. An error is the guest's at once (ENETUNREACH, EACCES by
  // policy); otherwise the guest waits for `attempt`, which expires when it has given up.
  virtual Result<void> connect(const InetAddress& to, std::shared_ptr<StreamConnection> stream,
                               std::weak_ptr<OutboundAttempt> attempt) REQUIRES(kernel_lock) = 0;

  // Whether `to`, a loopback address of the sandbox where nobody listens, stands for one of the
  // host.
  virtual bool has_loopback(const InetAddress&) const REQUIRES(kernel_lock) { return false; }

  // A DNS query that a guest has sent to port 53 of its loopback. Kernel lock held, for `reply` as
  // well, which may be called within the call, later, or never.
  using NameReply = std::function<void(std::vector<std::byte> packet)>;
  virtual void query(std::vector<std::byte>, NameReply) REQUIRES(kernel_lock) {}

  // TLS from here on, between the network layer and the far end: the guest goes on to write and
  // read what is inside. `request` is JSON: {"host", "alpn": [...]}. The guest then reads four
  // bytes, little endian, that many bytes of JSON which say how the handshake went, and after a
  // good one what the far end sends. EINVAL for a request that is none, EALREADY the second time,
  // ENOTSUP for a stream that is no connection of this layer.
  virtual Result<void> start_tls(const StreamConnection&, std::string_view) REQUIRES(kernel_lock) {
    return Errno::notsup;
  }

  // Whom a stream of this layer leads to, as the policy has judged it: scheme (http, or https once
  // TLS was begun), name or address, and port. Empty for any other stream.
  virtual std::string origin(const StreamConnection&) const REQUIRES(kernel_lock) { return {}; }
};

}  // namespace cloche::kernel

// Outbound: where TCP connections to anywhere but the sandbox's own loopback go. Without one every
// such connection is ENETUNREACH.
#pragma once

#include <memory>

#include "base/result.h"
#include "kernel/sockets/address.h"
#include "kernel/sockets/stream_connection.h"

namespace cloche::kernel {

// What the network layer gets of a connection that a guest asks for: the far end (End::second of
// `stream`), and the way to tell how the attempt ended. Kernel lock held for every call; nothing
// may be called after the kernel has ended.
class OutboundAttempt {
 public:
  virtual ~OutboundAttempt() = default;
  // The guest's side is connected, and has `local` as its address.
  virtual void established(const InetAddress& local) = 0;
  virtual void failed(Errno error) = 0;
};

class Outbound {
 public:
  virtual ~Outbound() = default;

  // Kernel lock held; must not block. An error is the guest's at once (ENETUNREACH, EACCES by
  // policy); otherwise the guest waits for `attempt`, which expires when it has given up.
  virtual Result<void> connect(const InetAddress& to, std::shared_ptr<StreamConnection> stream,
                               std::weak_ptr<OutboundAttempt> attempt) = 0;
};

}  // namespace cloche::kernel

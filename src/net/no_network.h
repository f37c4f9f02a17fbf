// SPDX-License-Identifier: Apache-2.0
// NoNetwork: the network of a sandbox that has none: connections are ENETUNREACH, and a query for a
// name is answered at once, where silence would let a guest wait for some seconds.
#pragma once

#include "kernel/sockets/outbound.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::net {

class NoNetwork final : public kernel::Outbound {
 public:
  Result<void> connect(const kernel::InetAddress& to,
                       std::shared_ptr<kernel::StreamConnection> stream,
                       std::weak_ptr<kernel::OutboundAttempt> attempt) override
      REQUIRES(kernel::kernel_lock);
  void query(std::vector<std::byte> packet, NameReply reply) override REQUIRES(kernel::kernel_lock);
};

}  // namespace cloche::net

// SPDX-License-Identifier: Apache-2.0
// ForwardChannel: a connection that the client forwards (direct-tcpip) to a port on which a program
// of the sandbox listens. Each way ends by itself.
//
// Threads: that of its connection.
#pragma once

#include <memory>
#include <string>

#include "cloche/loopback.h"
#include "doors/ssh/channel.h"
#include "doors/ssh/wake.h"
#include "session/session.h"

namespace cloche::ssh {

class ForwardChannel final : public Channel {
 public:
  // Takes over `handle`. `sandbox` is a use of its own; `wake` is of the connection, and outlives
  // it.
  ForwardChannel(ssh_channel handle, session::Session::Use sandbox, const Wake& wake)
      : Channel(handle), sandbox_(std::move(sandbox)), wake_(wake) {}

  bool is_forward() const noexcept override { return true; }

  // False when nobody listens there.
  bool connect(std::uint16_t port);

 private:
  bool move() override;
  bool owes_input() const noexcept override { return !inward_ended_; }
  std::uint64_t own_bytes() const override { return inward_.size() + outward_.size(); }
  bool pump_in();
  bool pump_out();

  session::Session::Use sandbox_;
  const Wake& wake_;
  std::string inward_;  // not yet taken by the program
  std::string outward_;
  bool inward_ended_ = false;
  bool outward_ended_ = false;
  std::unique_ptr<LoopbackConnection> connection_;  // goes before the sandbox
};

}  // namespace cloche::ssh

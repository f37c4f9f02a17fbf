// SPDX-License-Identifier: Apache-2.0
#include "cloche/loopback.h"

#include <utility>

#include "base/result.h"
#include "cloche/sandbox.h"
#include "kernel/host/host_connection.h"
#include "sandbox/sandbox_state.h"

namespace cloche {

struct LoopbackConnection::State {
  std::unique_ptr<kernel::HostConnection> connection;
};

Result<std::unique_ptr<LoopbackConnection>> Sandbox::connect(std::uint16_t port,
                                                             std::function<void()> changed) {
  CLOCHE_ASSIGN(auto connection,
                kernel::HostConnection::connect(state_->kernel(), port, std::move(changed)));
  return std::unique_ptr<LoopbackConnection>(
      new LoopbackConnection(std::make_unique<LoopbackConnection::State>(
          LoopbackConnection::State{std::move(connection)})));
}

LoopbackConnection::LoopbackConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoopbackConnection::~LoopbackConnection() = default;

Result<std::size_t> LoopbackConnection::write(std::string_view bytes) {
  return state_->connection->write(std::as_bytes(std::span(bytes)));
}

Result<std::size_t> LoopbackConnection::read(std::span<char> to) {
  return state_->connection->read(std::as_writable_bytes(to));
}

void LoopbackConnection::close_input() { state_->connection->shut_down_write(); }

}  // namespace cloche

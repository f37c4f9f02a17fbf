// SPDX-License-Identifier: Apache-2.0
#include "cloche/loopback.h"

#include <utility>

#include "cloche/sandbox.h"
#include "kernel/host/host_connection.h"
#include "sandbox/sandbox_state.h"

namespace cloche {

Result<std::unique_ptr<LoopbackConnection>> Sandbox::connect(std::uint16_t port,
                                                             std::function<void()> changed) {
  CLOCHE_ASSIGN(auto connection,
                kernel::HostConnection::connect(state_->kernel(), port, std::move(changed)));
  return std::unique_ptr<LoopbackConnection>(new LoopbackConnection(std::move(connection)));
}

LoopbackConnection::LoopbackConnection(std::unique_ptr<kernel::HostConnection> connection)
    : connection_(std::move(connection)) {}
LoopbackConnection::~LoopbackConnection() = default;

Result<std::size_t> LoopbackConnection::write(std::string_view bytes) {
  return connection_->write(std::as_bytes(std::span(bytes)));
}

Result<std::size_t> LoopbackConnection::read(std::span<char> to) {
  return connection_->read(std::as_writable_bytes(to));
}

void LoopbackConnection::close_input() { connection_->shut_down_write(); }

}  // namespace cloche

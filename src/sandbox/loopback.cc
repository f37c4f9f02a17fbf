// SPDX-License-Identifier: Apache-2.0
#include "cloche/loopback.h"

#include <utility>

#include "sandbox/backend.h"

namespace cloche {

Result<std::unique_ptr<LoopbackConnection>> Sandbox::connect(std::uint16_t port,
                                                             std::function<void()> changed) {
  CLOCHE_ASSIGN(auto stream, backend_->connect(port, std::move(changed)));
  return std::unique_ptr<LoopbackConnection>(new LoopbackConnection(std::move(stream)));
}

LoopbackConnection::LoopbackConnection(std::unique_ptr<sandbox::LoopbackStream> stream)
    : stream_(std::move(stream)) {}
LoopbackConnection::~LoopbackConnection() = default;

Result<std::size_t> LoopbackConnection::write(std::string_view bytes) {
  return stream_->write(bytes);
}

Result<std::size_t> LoopbackConnection::read(std::span<char> to) { return stream_->read(to); }

void LoopbackConnection::close_input() { stream_->close_input(); }

}  // namespace cloche

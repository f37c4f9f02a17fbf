// SPDX-License-Identifier: Apache-2.0
#include "cloche/loopback.h"

#include <utility>

#include "base/result.h"
#include "cloche/sandbox.h"
#include "sandbox/backend.h"

namespace cloche {

struct LoopbackConnection::State {
  std::unique_ptr<sandbox::LoopbackStream> stream;
};

Result<std::unique_ptr<LoopbackConnection>> Sandbox::connect(std::uint16_t port,
                                                             std::function<void()> changed) {
  CLOCHE_ASSIGN(auto stream, backend_->connect(port, std::move(changed)));
  return std::unique_ptr<LoopbackConnection>(new LoopbackConnection(
      std::make_unique<LoopbackConnection::State>(LoopbackConnection::State{std::move(stream)})));
}

LoopbackConnection::LoopbackConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoopbackConnection::~LoopbackConnection() = default;

Result<std::size_t> LoopbackConnection::write(std::string_view bytes) {
  return state_->stream->write(bytes);
}

Result<std::size_t> LoopbackConnection::read(std::span<char> to) {
  return state_->stream->read(to);
}

void LoopbackConnection::close_input() { state_->stream->close_input(); }

}  // namespace cloche

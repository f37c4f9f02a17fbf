// SPDX-License-Identifier: Apache-2.0
// Lines of a client that is broken or hostile, to the door of the Model Context Protocol: whatever
// they are, each request is answered once, in valid JSON, or was cancelled. There is no sandbox
// behind it, so that a search is fast.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include "base/sha256.h"
#include "doors/mcp/peer.h"
#include "doors/mcp/subscriptions.h"
#include "pieces.h"

namespace {

using namespace cloche::mcp;

class Checked final : public Channel {
 public:
  void send(std::string message) override { check(message); }
  void finish(std::string answer, int) override {
    const Json read = check(answer);
    if (!read.contains("id") || read.contains("result") == read.contains("error")) std::abort();
  }
  void abandon() override {}

 private:
  static Json check(const std::string& text) {
    Json read = Json::parse(text, nullptr, false);
    if (!read.is_object() || text.find('\n') != std::string::npos) std::abort();
    return read;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // What OpenSSL registers for the end of the process comes before the pool, so that the end waits
  // for the pool's threads first: one may still compute a digest for a request that was cancelled.
  static const auto first_digest = cloche::Sha256().end();
  (void)first_digest;
  static cloche::session::WorkerPool pool(4);
  static Hub hub(
      {}, []() -> cloche::Engine& { throw std::runtime_error("there is no engine"); }, pool);
  const auto space = hub.make_space();
  const auto peer =
      std::make_shared<Peer>(hub, Scope{space, space, std::make_shared<Subscriptions>(), {}});
  const auto channel = std::make_shared<Checked>();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    auto read = read_message(cloche::fuzz::next_piece(text));
    if (auto* bad = std::get_if<BadMessage>(&read)) {
      channel->finish(error_response(bad->id, bad->error), bad->error.code);
    } else {
      peer->take(std::get<Message>(std::move(read)), channel);
    }
  }
  peer->cancel_all();
  if (!peer->wait_idle(std::chrono::steady_clock::now() + std::chrono::seconds(60))) std::abort();
  return 0;
}

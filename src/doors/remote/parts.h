// SPDX-License-Identifier: Apache-2.0
// What the door's classes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "cloche/engine.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::remote {

class Terminals;
class Ticker;

struct Parts {
  Engine& engine;
  session::SessionManager& sessions;
  session::WorkerPool& workers;
  std::function<std::string()> not_ready;   // why there should be no new sessions here; or empty
  std::function<std::uint64_t()> requests;  // how many the server has answered
};

// What all messages that are being received take in memory.
class ReceivedBytes {
 public:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 30;

  // False when there would be too much; then nothing has changed.
  bool change(std::int64_t by) noexcept {
    const std::int64_t after = bytes_.fetch_add(by) + by;
    if (by <= 0 || after <= static_cast<std::int64_t>(limit)) return true;
    bytes_ -= by;
    return false;
  }

 private:
  std::atomic<std::int64_t> bytes_ = 0;
};

}  // namespace cloche::remote

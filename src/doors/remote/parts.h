// SPDX-License-Identifier: Apache-2.0
// What the door's classes share.
#pragma once

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

}  // namespace cloche::remote

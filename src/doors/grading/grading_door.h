// SPDX-License-Identifier: Apache-2.0
// GradingDoor: `POST /run_code`, the wire of SandboxFusion, which trainers grade code by: each
// request in a sandbox of its own, which ends with it. `POST /run_code/batch` takes many at once.
//
// As many are run at once as the machine has processors, so that each has its time; the others
// wait. What would wait too long is answered with 504, which clients send again. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "cloche/engine.h"
#include "doors/grading/gate.h"
#include "doors/grading/grader.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "session/worker_pool.h"

namespace cloche::grading {

class GradingDoor {
 public:
  // All of them outlive it; it must outlive the work it posts to `workers`.
  struct Parts {
    Engine& engine;
    session::WorkerPool& workers;
    const http::TokenStore& tokens;
    http::Metrics& metrics;
  };
  GradingDoor(const Parts& parts, const SandboxOptions& sandbox);

  static bool is_mine(std::string_view path);
  // A client without a good token is refused before it sends a body.
  http::Admission admit(const http::Request& head) const;
  void handle(const http::Request& request, const std::shared_ptr<http::Exchange>& exchange);
  // What runs ends, what waits and what comes is refused.
  void stop();

 private:
  std::optional<std::string> owner_of(const http::Request& head) const;
  RunVerdict grade(const RunRequest& request);
  void grade_one(const std::string& owner, RunRequest request,
                 const std::shared_ptr<http::Exchange>& exchange);

  Parts parts_;
  Grader grader_;
  std::atomic<std::size_t> batches_ = 0;
  std::stop_source stop_;
  Gate gate_;  // the last: its jobs use the others
};

}  // namespace cloche::grading

// SPDX-License-Identifier: Apache-2.0
// StepDoor: the HTTP server of `session-based-sandbox`: sessions in which each step is a fresh
// process.
//
// It translates requests to a SessionManager's sessions and back. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::steps {

// SBS_STEP_TIMEOUT_SEC: a number of seconds, at least 1; what cannot be read is 30.
double step_timeout_s(const char* text);

class StepDoor {
 public:
  // All of them outlive it; it must outlive the work it posts to `workers`.
  struct Parts {
    session::SessionManager& sessions;
    session::WorkerPool& workers;
    http::Log& log;
    http::Metrics& metrics;
  };
  StepDoor(Parts parts, double timeout_s) : parts_(parts), timeout_s_(timeout_s) {}

  // Answers every request; a step is done here, so it takes as long as that.
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  // Whether there is a page at the path, for a person or an agent to read: it tells of no session.
  static bool is_page(std::string_view path);

 private:
  void create(const std::shared_ptr<http::Exchange>& exchange);
  void step(const std::string& id, const http::Request& request,
            const std::shared_ptr<http::Exchange>& exchange);
  http::Response none_at(const std::string& id) const;
  void remove(const std::string& id, const std::shared_ptr<http::Exchange>& exchange);
  struct StepRun;
  http::Response run(const StepRun& step);

  Parts parts_;
  const double timeout_s_;
};

}  // namespace cloche::steps

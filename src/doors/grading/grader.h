// SPDX-License-Identifier: Apache-2.0
// Grader: runs code in a sandbox of its own and says how it ended. Thread-safe.
#pragma once

#include <cstdint>
#include <stop_token>

#include "cloche/engine.h"
#include "doors/grading/run_request.h"
#include "session/timers.h"

namespace cloche::grading {

class Grader {
 public:
  // `sandbox`: what every run has, at most. All outlive it.
  Grader(Engine& engine, const SandboxOptions& sandbox) : engine_(engine), sandbox_(sandbox) {}

  // What a run may answer: of standard output and of errors, each, and of files.
  static constexpr std::uint64_t output_limit_bytes = 1 << 20;
  static constexpr std::uint64_t fetch_limit_bytes = 16 << 20;

  // Waits for the end of the run. Never throws for what the code does.
  RunVerdict grade(const RunRequest& request, const std::stop_token& stop);

 private:
  Engine& engine_;
  const SandboxOptions sandbox_;
  session::Timers timers_;
};

}  // namespace cloche::grading

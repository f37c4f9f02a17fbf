// SPDX-License-Identifier: Apache-2.0
// One engine for all tests of this program, and sandboxes made in a line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cloche/engine.h"

namespace cloche::testing {

inline Engine& engine() {
  static Engine shared(EngineOptions{.system_folder = CLOCHE_ROOTFS_DIR});
  return shared;
}

inline std::unique_ptr<Sandbox> make_sandbox(const SandboxOptions& options = {}) {
  return engine().create(options);
}

// What a script prints in a fresh sandbox; its status and errors are part of a failure's message.
inline std::string output_of(const std::string& script) {
  const RunResult result = make_sandbox()->run({.script = script});
  EXPECT_EQ(result.stderr_data, "") << script;
  EXPECT_EQ(result.exit_code, 0) << script << "\n" << result.reason;
  return result.stdout_data;
}

}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
// Tests of what both engines promise: each runs on either of them, by its parameter. Boxes have the
// small image of this machine's programs; where this machine can have none, their half is skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "cloche/engine.h"

namespace cloche::testing {

class OnEachEngine : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override;

  bool is_linux() const { return GetParam() == EngineKind::native_linux; }
  static Engine& engine();
  std::unique_ptr<Sandbox> make_sandbox(SandboxOptions options = {}) const;
};

}  // namespace cloche::testing

// After the tests of a class that is derived from OnEachEngine.
#define CLOCHE_ON_EACH_ENGINE(suite)                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Engines, suite,                                                                              \
      ::testing::Values(cloche::EngineKind::wasm, cloche::EngineKind::native_linux),               \
      [](const ::testing::TestParamInfo<cloche::EngineKind>& one) {                                \
        return one.param == cloche::EngineKind::wasm ? std::string("wasm") : std::string("linux"); \
      })

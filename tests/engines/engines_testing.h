// SPDX-License-Identifier: Apache-2.0
// Tests of what both engines promise: each runs on either of them, by its parameter. Boxes have the
// small image of this machine's programs; where this machine can have none, their half is skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cloche/engine.h"
#include "cloche/python_session.h"

namespace cloche::testing {

class OnEachEngine : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override;

  bool is_linux() const { return GetParam() == EngineKind::native_linux; }
  static Engine& engine();
  SandboxOptions of_engine(SandboxOptions options = {}) const;
  std::unique_ptr<Sandbox> make_sandbox(SandboxOptions options = {}) const;
};

// The same in boxes of another image: the small one as a script has left it. The other engine has
// no images to change: its half is skipped.
class OnChangedImage : public OnEachEngine {
 protected:
  OnChangedImage(std::string name, std::string script)
      : name_(std::move(name)), script_(std::move(script)) {}
  void SetUp() override;

  SandboxOptions options_;

 private:
  const std::string name_, script_;
};

// The same for Python, with sessions made in a line, and what their code prints or is worth.
class PythonOnEachEngine : public OnEachEngine {
 protected:
  void SetUp() override;

  PythonSession new_session(PythonSessionOptions options = {},
                            const SandboxOptions& sandbox = {}) const {
    return PythonSession(engine(), of_engine(sandbox), std::move(options));
  }
  static std::string printed(PythonSession& session, std::string_view code);
  static std::string value_of(PythonSession& session, std::string_view code);
  static Callback echo(std::string name);
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

// SPDX-License-Identifier: Apache-2.0
// Sessions made in a line, and what their code prints or is worth.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "cloche/python_session.h"
#include "sandbox_testing.h"

namespace cloche::testing {

inline PythonSession new_session(PythonSessionOptions options = {},
                                 const SandboxOptions& sandbox = {}) {
  return PythonSession(engine(), sandbox, std::move(options));
}

inline std::string printed(PythonSession& session, std::string_view code) {
  const ExecuteResult result = session.execute(code);
  EXPECT_EQ(result.status, ExecuteStatus::ok)
      << code << "\n"
      << result.reason << (result.error ? result.error->traceback : "");
  return result.stdout_data;
}

inline std::string value_of(PythonSession& session, std::string_view code) {
  const ExecuteResult result = session.execute(code);
  EXPECT_EQ(result.status, ExecuteStatus::ok)
      << code << "\n"
      << result.reason << (result.error ? result.error->traceback : "");
  return result.result_repr.value_or("");
}

inline Callback echo(std::string name) {
  Callback callback;
  callback.name = std::move(name);
  callback.handler = [](CallbackCall& call) { return call.arguments(); };
  return callback;
}

}  // namespace cloche::testing

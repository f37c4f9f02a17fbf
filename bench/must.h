// SPDX-License-Identifier: Apache-2.0
// A benchmark measures what worked: its check.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "cloche/sandbox.h"

namespace cloche::bench {

// Throws where a measured command has not written this.
inline void must(const RunResult& result, std::string_view output) {
  if (result.stdout_data != output) {
    throw std::runtime_error(
        fmt::format("a measured command went wrong: {} {}", result.reason, result.stderr_data));
  }
}

}  // namespace cloche::bench

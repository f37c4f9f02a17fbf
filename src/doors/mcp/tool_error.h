// SPDX-License-Identifier: Apache-2.0
// What a tool cannot do: a result that says so to the model, which may do better then; never an
// error of the protocol.
#pragma once

#include <string>
#include <string_view>

#include "cloche/result.h"

namespace cloche::mcp {

struct ToolError {
  std::string sentence;
};

// "ENOENT: No such file or directory: /tmp/x"
ToolError file_error(Errno error, std::string_view about);

// The value of a result; throws what file_error says.
template <typename T>
T must(Result<T> result, std::string_view about) {
  if (!result) throw file_error(result.error(), about);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace cloche::mcp

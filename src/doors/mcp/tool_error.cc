// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool_error.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace cloche::mcp {

ToolError file_error(Errno error, std::string_view about) {
  const ErrnoInfo& info = errno_info(error);
  return {fmt::format("{}: {}: {}", info.name, info.message, valid_utf8(about.substr(0, 1000)))};
}

}  // namespace cloche::mcp

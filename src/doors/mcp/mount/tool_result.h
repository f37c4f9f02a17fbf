// SPDX-License-Identifier: Apache-2.0
// What a tool has answered, as a program prints it: text to standard output, or to standard error
// with exit code 1 where the tool says that it failed. A part that is no text (a picture, a sound,
// a blob) is named on standard error and printed only where it is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cloche::mcp::mount {

struct ToolOutput {
  std::string out;
  std::string err;
  int status = 0;
};

// `result` is that of tools/call, of any server. `part`: which one to print alone, from 1; 0: the
// text of all.
ToolOutput output_of(const OrderedJson& result, std::string_view command, std::size_t part);

}  // namespace cloche::mcp::mount

// SPDX-License-Identifier: Apache-2.0
// The server that `cloche serve` and `sbs run` are: all HTTP doors and SSH over one engine and one
// set of sessions, until a signal ends it.
#pragma once

#include <string>
#include <vector>

namespace cloche::serve {

// Exit status where the words make no sense: they never will.
constexpr int usage_status = 2;
// Where the machine does not give what they name (an address, a folder, a file): it may later.
constexpr int refused_status = 1;

// `words` follow `cloche serve`. Returns the exit status; what is wrong is one sentence on standard
// error.
int serve_command(const std::vector<std::string>& words);

// `words` follow `sbs`: run, skill. `name` is how the program was called.
int sbs_command(const std::string& name, const std::vector<std::string>& words);

}  // namespace cloche::serve

// SPDX-License-Identifier: Apache-2.0
// What the command line asks of the store of system images.
#pragma once

#include <string>
#include <vector>

#include "doors/cli/options.h"

namespace cloche::cli {

// `cloche image ACTION WORDS`: pull, import, list, remove, make. Throws an Error of kind request.
Options parse_store_command(const std::string& action, const std::vector<std::string>& words);

}  // namespace cloche::cli

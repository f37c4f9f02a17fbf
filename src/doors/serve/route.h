// SPDX-License-Identifier: Apache-2.0
// `cloche route`: what sends each request to the cell that it is for.
#pragma once

#include <string>
#include <vector>

namespace cloche::serve {

// `cloche route WORDS...`. The exit status.
int route_command(const std::vector<std::string>& words);

}  // namespace cloche::serve

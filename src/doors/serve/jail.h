// SPDX-License-Identifier: Apache-2.0
// The server's own jail: base/process_jail.h with what a server needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloche/engine.h"
#include "doors/serve/options.h"

namespace cloche::serve {

// To be called before the first thread starts. Makes what has to be there to be named: the cache,
// the state folder, the SSH host key. The options name afterwards what was found. Returns a
// sentence for each wall that is missing. Throws HostError.
std::vector<std::string> enter_jail(Options& options, EngineOptions& engine_options);

}  // namespace cloche::serve

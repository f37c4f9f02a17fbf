// SPDX-License-Identifier: Apache-2.0
// What a PythonSession promises: executions, callbacks, forks, state.
#pragma once

#include <vector>

#include "cloche/engine.h"
#include "table.h"

namespace cloche::bench {

// The rows hold sessions of `engine`, which outlives them. Throws when a measured execution goes
// wrong.
std::vector<Row> session_rows(Engine& engine);

}  // namespace cloche::bench

// SPDX-License-Identifier: Apache-2.0
// The promises of the shell, each against the machine's own bash.
#pragma once

#include <vector>

#include "cloche/sandbox.h"
#include "table.h"

namespace cloche::bench {

// The rows use `sandbox`, which outlives them. Throws when one of the scripts goes wrong.
std::vector<Row> shell_rows(Sandbox& sandbox);

}  // namespace cloche::bench

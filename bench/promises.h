// SPDX-License-Identifier: Apache-2.0
// The promises of the sandbox as a whole; each has a target in the table.
#pragma once

namespace cloche::bench {

// Measures and prints. Throws when a sandbox cannot be made.
void measure_promises();

}  // namespace cloche::bench

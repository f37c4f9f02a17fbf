// SPDX-License-Identifier: Apache-2.0
// The tools of a sandbox against those of the machine, on the same input.
#pragma once

namespace cloche::bench {

// Measures and prints. Throws when a sandbox cannot be made.
void measure_tools();

}  // namespace cloche::bench

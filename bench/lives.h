// SPDX-License-Identifier: Apache-2.0
// What whole short lives cost: a sandbox made, used once and removed, or a process of one.
#pragma once

namespace cloche::bench {

// Measures and prints. Throws when a sandbox cannot be made.
void measure_lives();

}  // namespace cloche::bench

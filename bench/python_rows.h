// SPDX-License-Identifier: Apache-2.0
// Python against a native CPython of this machine, in the same run: starts, imports, and loops.
#pragma once

namespace cloche::bench {

// Prints its table. Throws std::runtime_error when a measured command goes wrong.
void measure_python();

}  // namespace cloche::bench

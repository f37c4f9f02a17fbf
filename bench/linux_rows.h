// SPDX-License-Identifier: Apache-2.0
// Sandboxes of the linux engine beside what else there is to run a program of this machine with.
#pragma once

namespace cloche::bench {

// Measures and prints. The image is the store's $CLOCHE_BENCH_IMAGE (`bench`); where there is none
// it says so, and measures nothing.
void measure_linux();

}  // namespace cloche::bench

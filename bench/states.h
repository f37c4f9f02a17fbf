// SPDX-License-Identifier: Apache-2.0
// What a live Python with numpy and 10 MB of state that was just written costs to fork, to save and
// to bring back.
#pragma once

namespace cloche::bench {

void measure_states();

}  // namespace cloche::bench

// SPDX-License-Identifier: Apache-2.0
// One call of the interpreter's `turn`.
#pragma once

#include <string_view>

#include "wasm/instance.h"
#include "wasm/outcome.h"

namespace cloche::python {

// Gives the interpreter one frame and runs it: host_alloc, copy, turn. For the instance's own
// thread.
wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame);

}  // namespace cloche::python

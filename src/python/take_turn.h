// One call of the interpreter's `turn`, and what a failure of ours is to its task.
#pragma once

#include <string>
#include <string_view>

#include "wasm/instance.h"
#include "wasm/outcome.h"

namespace cloche::python {

// Gives the interpreter one frame and runs it: host_alloc, copy, turn. For the instance's own
// thread.
wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame);

// As a trap with these words.
wasm::Outcome failure(std::string message);

}  // namespace cloche::python

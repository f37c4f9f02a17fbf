// SPDX-License-Identifier: Apache-2.0
// A stack for guests on a thread that has too little of its own, such as main() or a std::thread.
//
// The thread's own stack waits meanwhile, as in any call: what runs is the same thread, with its
// thread-local variables and its signals. The stack stays with the thread until that ends.
#pragma once

#include <cstddef>
#include <functional>

namespace cloche::wasm {

// How much stack is left below the caller's frame.
std::size_t stack_left_bytes() noexcept;

// True when on_guest_stack can be called by this thread. False when the host gives no memory for a
// stack.
bool has_guest_stack() noexcept;

// Calls `work` with at least max_guest_stack_bytes of stack, and some more for the host's
// functions. It must not throw. Not from within `work`.
void on_guest_stack(const std::function<void()>& work) noexcept;

}  // namespace cloche::wasm

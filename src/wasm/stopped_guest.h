// SPDX-License-Identifier: Apache-2.0
// A guest that a signal has stopped between two instructions of its code: what must be so before it
// is called again right there, and how it goes on where that call ended with an exception. For this
// layer.
//
// This is of one version of wasmtime, the one that is pinned, in two things that its interface does
// not tell: where it keeps how a guest was left for the host, and the registers of a call.
#pragma once

#include <ucontext.h>

#include <cstddef>

#include "wasm/native_code.h"

struct wasmtime_context;
struct wasmtime_func;

namespace cloche::wasm {

// What the functions of an instance get beside their parameters, by one function of it.
class GuestContext {
 public:
  // Of no instance: nothing may be asked of it.
  GuestContext() = default;
  GuestContext(wasmtime_context* store, const wasmtime_func& function) noexcept;

  bool is_known() const noexcept { return address_ != nullptr; }

  // wasmtime walks the frames of guests under a call (for a trap's backtrace, to collect
  // exceptions) from where each left for the host. This one has not left, and what is known is of a
  // call of the host before, whose frames are gone. From now on it is passed over.
  void forget_exit(const NativeCode& code) const noexcept;

  // It goes on in `code.raise`, as if whoever called the function that was stopped had called that.
  void go_on_raising(ucontext_t& context, const NativeCode& code) const noexcept;

 private:
  std::byte* address_ = nullptr;
};

}  // namespace cloche::wasm

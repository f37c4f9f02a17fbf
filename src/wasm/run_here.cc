// SPDX-License-Identifier: Apache-2.0
#include "wasm/run_here.h"

#include <utility>

#include "base/check.h"
#include "wasm/guest_stack.h"

namespace cloche::wasm {
namespace {

// This thread does such work now: its stack is a guest's.
thread_local bool is_running = false;

}  // namespace

RunHere::RunHere() noexcept : is_free_(!is_running && has_guest_stack()) {}

RunHere::~RunHere() { CLOCHE_CHECK(!work_); }

bool RunHere::take(std::function<void()>& work) noexcept {
  if (!std::exchange(is_free_, false)) return false;
  work_ = std::move(work);
  return true;
}

void RunHere::run() {
  const std::function<void()> work = std::exchange(work_, nullptr);
  is_running = true;
  on_guest_stack(work);
  is_running = false;
}

}  // namespace cloche::wasm

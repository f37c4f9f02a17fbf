// SPDX-License-Identifier: Apache-2.0
#include "wasm/run_here.h"

#include <utility>

#include "base/check.h"
#include "wasm/guest_stack.h"

namespace cloche::wasm {
namespace {

thread_local RunHere* waiting = nullptr;

}  // namespace

RunHere::RunHere() noexcept {
  if (waiting != nullptr || !has_guest_stack()) return;
  waiting = this;
  armed_ = true;
}

RunHere::~RunHere() {
  CLOCHE_CHECK(!work_);
  if (waiting == this) waiting = nullptr;
}

bool RunHere::take(std::function<void()>& work) noexcept {
  if (waiting == nullptr || !waiting->armed_) return false;
  waiting->armed_ = false;
  waiting->work_ = std::move(work);
  return true;
}

void RunHere::run() {
  // It stays the one that waits meanwhile, unarmed: nothing else is caught within.
  const std::function<void()> work = std::exchange(work_, nullptr);
  on_guest_stack(work);
}

}  // namespace cloche::wasm

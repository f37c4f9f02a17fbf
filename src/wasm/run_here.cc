#include "wasm/run_here.h"

#include <utility>

#include "base/check.h"

namespace cloche::wasm {
namespace {

thread_local bool offered = false;
thread_local RunHere* waiting = nullptr;

}  // namespace

void RunHere::offer_this_thread() noexcept { offered = true; }

RunHere::RunHere() noexcept {
  if (!offered || waiting != nullptr) return;
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
  work();
}

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
// The memory that wasmtime asks for on behalf of a guest: linear memories, and the heaps in which
// its exceptions lie. All of it is made and grown here, so that a sandbox is charged before it has
// it.
#pragma once

#include <memory>

#include "wasm/initial_memory.h"
#include "wasm/memory_budget.h"

struct wasm_config_t;

namespace cloche::wasm {

// For whom this thread makes memory, while it is in a call to wasmtime that may make some. Without
// one memory is refused. Scopes nest.
class MemoryScope {
 public:
  // `initial`: what a new linear memory holds, null: nothing. Both outlive the scope.
  MemoryScope(const std::shared_ptr<MemoryBudget>& budget, const InitialMemory* initial) noexcept;
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  const std::shared_ptr<MemoryBudget>& budget() const noexcept { return budget_; }
  const InitialMemory* initial() const noexcept { return initial_; }

 private:
  const std::shared_ptr<MemoryBudget>& budget_;
  const InitialMemory* initial_;
  const MemoryScope* outer_;
};

// Makes an engine of this configuration take its memory from here.
void make_memory_here(wasm_config_t* config);

}  // namespace cloche::wasm

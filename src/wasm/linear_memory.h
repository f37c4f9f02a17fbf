// SPDX-License-Identifier: Apache-2.0
// The memory that wasmtime asks for on behalf of a guest: linear memories, and the heaps in which
// its exceptions lie. All of it is made and grown here, so that a sandbox is charged before it has
// it.
#pragma once

#include <cstddef>
#include <memory>

#include "wasm/initial_memory.h"
#include "wasm/memory_budget.h"

struct wasm_config_t;

namespace cloche::wasm {

// One linear memory: address space, of which a part is accessible. Instances that share a memory
// hold it together.
class MemoryBlock;

// For whom this thread makes memory, while it is in a call to wasmtime that may make some. Without
// one memory is refused. Scopes nest.
class MemoryScope {
 public:
  // `initial`: what a new linear memory holds, null: nothing. `block`: gets the first memory that is
  // made of at least one byte; where it holds one already, that is the first memory. All outlive the
  // scope.
  MemoryScope(const std::shared_ptr<MemoryBudget>& budget, const InitialMemory* initial,
              std::shared_ptr<MemoryBlock>* block = nullptr) noexcept;
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  const std::shared_ptr<MemoryBudget>& budget() const noexcept { return budget_; }
  const InitialMemory* initial() const noexcept { return initial_; }
  std::shared_ptr<MemoryBlock>* block() const noexcept { return block_; }

 private:
  const std::shared_ptr<MemoryBudget>& budget_;
  const InitialMemory* initial_;
  std::shared_ptr<MemoryBlock>* block_;
  const MemoryScope* outer_;
};

// Bytes that are accessible.
std::size_t size_of(const MemoryBlock& block) noexcept;

// Makes an engine of this configuration take its memory from here.
void make_memory_here(wasm_config_t* config);

}  // namespace cloche::wasm

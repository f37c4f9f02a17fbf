// SPDX-License-Identifier: Apache-2.0
// The memory that wasmtime asks for on behalf of a guest: linear memories, and the heaps in which
// its exceptions lie. All of it is made and grown here, so that a sandbox is charged before it has
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "wasm/initial_memory.h"
#include "wasm/memory_budget.h"
#include "wasm/memory_map.h"
#include "wasm/private_pages.h"

struct wasm_config_t;

namespace cloche::wasm {

class MemoryContent;

// One memory: [ guard ][ size: accessible ][ up to what is reserved: not yet ][ guard ]
class LinearMemory {
 public:
  // Null where the host refuses.
  static std::unique_ptr<LinearMemory> reserve(std::size_t bytes, std::size_t guard) noexcept;
  ~LinearMemory();
  LinearMemory(const LinearMemory&) = delete;
  LinearMemory& operator=(const LinearMemory&) = delete;

  // Begins a life: `bytes` of it, charged to `budget`. False, and it is of no use, where that or
  // the host refuses.
  bool begin(const std::shared_ptr<MemoryBudget>& budget, std::size_t bytes) noexcept;
  // To at least so many bytes: another instance that shares it may have grown it already.
  bool grow_to(std::size_t bytes) noexcept;

  // One more instance has it; each lets go of it once. With the last it goes home, or to the host.
  void share() noexcept { ++holders_; }
  void let_go() noexcept;
  bool is_shared() const noexcept { return holders_ > 1; }

  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t reserved() const noexcept { return reserved_; }
  std::size_t guard() const noexcept { return guard_; }

  // --- Between two lives: see MemoryContent ---

  // What it holds now, from the first byte on: all that its next life begins with.
  struct Warmth {
    std::vector<PageRun> pages;  // that are private to it already, with that content
    // As in MemoryMap; of a memory that was prepared for a capture.
    std::shared_ptr<const MemoryFile> growth;
    std::uint64_t growth_origin = 0;
    std::uint64_t growth_start = 0;
    std::uint64_t held_bytes = 0;  // of the host's memory, about
  };
  // Ends a life: `bytes` stay accessible, whoever had it is charged no more.
  void rest(std::size_t bytes, Warmth warmth) noexcept;
  // Of a memory that rested before this life; null: it is new.
  const Warmth* warmth() const noexcept { return warmth_ ? &*warmth_ : nullptr; }
  // Where it goes when its instance lets go of it, which is the only one; null: back to the host.
  void set_home(const MemoryContent* home) noexcept { home_ = home; }

 private:
  LinearMemory() = default;

  std::optional<MemoryCharge> charge_;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
  std::size_t guard_ = 0;
  std::size_t ready_ = 0;  // accessible already, for this life to grow into
  std::optional<Warmth> warmth_;
  const MemoryContent* home_ = nullptr;
  std::atomic<int> holders_{1};
};

// For whom this thread makes memory, while it is in a call to wasmtime that may make some. Without
// one memory is refused. Scopes nest.
class MemoryScope {
 public:
  // For what a running guest grows: nothing linear. `budget` outlives the scope.
  explicit MemoryScope(const std::shared_ptr<MemoryBudget>& budget) noexcept;
  // The linear memory of a new instance: it has `bytes` and holds `initial`, or is `warm` or
  // `shared` where one of these is not null.
  struct Linear {
    std::uint64_t bytes = 0;
    const InitialMemory* initial = nullptr;
    std::unique_ptr<LinearMemory> warm;
    LinearMemory* shared = nullptr;
  };
  // For a new instance. What is named outlives the scope.
  MemoryScope(const std::shared_ptr<MemoryBudget>& budget, Linear about) noexcept;
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // For wasmtime's callbacks: a memory to let go of; null where the host or the budget
  // refuses.
  LinearMemory* make(std::size_t minimum, std::size_t reserved, std::size_t guard) noexcept;
  // The linear memory that was made, which is the instance's; null: none.
  LinearMemory* linear() const noexcept { return linear_; }

  static MemoryScope* current() noexcept;

 private:
  const std::shared_ptr<MemoryBudget>& budget_;
  Linear about_;
  LinearMemory* linear_ = nullptr;
  MemoryScope* outer_;
};

// Makes an engine of this configuration take its memory from here.
void make_memory_here(wasm_config_t* config);

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
#include "wasm/linear_memory.h"

#include <sys/mman.h>
#include <wasmtime.h>

#include <algorithm>
#include <new>
#include <utility>

#include "wasm/memory_content.h"

namespace cloche::wasm {
namespace {

thread_local MemoryScope* current_scope = nullptr;

std::uint8_t* get_memory(void* env, std::size_t* size, std::size_t* capacity) noexcept {
  const auto& memory = *static_cast<LinearMemory*>(env);
  *size = memory.size();
  *capacity = memory.reserved();
  return reinterpret_cast<std::uint8_t*>(memory.base());
}

wasmtime_error_t* grow_memory(void* env, std::size_t new_size) noexcept {
  if (static_cast<LinearMemory*>(env)->grow_to(new_size)) return nullptr;
  return wasmtime_error_new("there is no more memory");
}

void delete_memory(void* env) noexcept { static_cast<LinearMemory*>(env)->let_go(); }

wasmtime_error_t* new_memory(void*, const wasm_memorytype_t*, std::size_t minimum, std::size_t,
                             std::size_t reserved, std::size_t guard,
                             wasmtime_linear_memory_t* out) noexcept {
  MemoryScope* scope = MemoryScope::current();
  if (scope == nullptr) return wasmtime_error_new("memory is made outside of a guest's call");
  LinearMemory* memory = scope->make(minimum, reserved, guard);
  if (memory == nullptr) return wasmtime_error_new("there is no more memory");
  *out = {.env = memory,
          .get_memory = get_memory,
          .grow_memory = grow_memory,
          .finalizer = delete_memory};
  return nullptr;
}

}  // namespace

std::unique_ptr<LinearMemory> LinearMemory::reserve(std::size_t bytes, std::size_t guard) noexcept {
  std::unique_ptr<LinearMemory> memory(new (std::nothrow) LinearMemory);
  std::size_t all = 0;
  if (!memory || __builtin_add_overflow(bytes, guard, &all) ||
      __builtin_add_overflow(all, guard, &all))
    return nullptr;
  void* at = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  memory->mapping_ = at;
  memory->mapped_ = all;
  memory->base_ = static_cast<std::byte*>(at) + guard;
  memory->reserved_ = bytes;
  memory->guard_ = guard;
  return memory;
}

LinearMemory::~LinearMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

bool LinearMemory::begin(const std::shared_ptr<MemoryBudget>& budget, std::size_t bytes) noexcept {
  charge_.emplace(budget);
  home_ = nullptr;
  holders_ = 1;
  return grow_to(bytes);
}

void LinearMemory::let_go() noexcept {
  if (--holders_ > 0) return;
  std::unique_ptr<LinearMemory> memory(this);
  if (home_ != nullptr) home_->keep(std::move(memory));
}

bool LinearMemory::grow_to(std::size_t bytes) noexcept {
  if (bytes <= size_) return true;
  if (bytes > reserved_) return false;
  const std::size_t more = bytes - size_;
  if (!charge_->add(more)) return false;
  if (bytes > ready_) {
    if (mprotect(base_ + ready_, bytes - ready_, PROT_READ | PROT_WRITE) != 0) {
      charge_->give_back(more);
      return false;
    }
    ready_ = bytes;
  }
  size_ = bytes;
  return true;
}

void LinearMemory::rest(std::size_t bytes, Warmth warmth) noexcept {
  size_ = 0;
  ready_ = bytes;
  charge_.reset();
  warmth_ = std::move(warmth);
}

MemoryScope::MemoryScope(const std::shared_ptr<MemoryBudget>& budget) noexcept
    : budget_(budget), outer_(std::exchange(current_scope, this)) {}

MemoryScope::MemoryScope(const std::shared_ptr<MemoryBudget>& budget, Linear about) noexcept
    : budget_(budget), about_(std::move(about)), outer_(std::exchange(current_scope, this)) {}

MemoryScope::~MemoryScope() { current_scope = outer_; }

MemoryScope* MemoryScope::current() noexcept { return current_scope; }

// The heap of exceptions begins empty, so what has bytes is the linear memory.
LinearMemory* MemoryScope::make(std::size_t minimum, std::size_t reserved,
                                std::size_t guard) noexcept {
  const bool is_linear = linear_ == nullptr && minimum > 0 && minimum == about_.bytes;
  const auto fits = [&](const LinearMemory* memory) {
    return is_linear && memory != nullptr && memory->reserved() == reserved &&
           memory->guard() == guard;
  };
  if (is_linear && about_.shared != nullptr) {
    if (!fits(about_.shared) || about_.shared->size() < minimum) return nullptr;
    about_.shared->share();
    return linear_ = about_.shared;
  }
  std::unique_ptr<LinearMemory> memory;
  if (fits(about_.warm.get())) {
    memory = std::move(about_.warm);
    if (!memory->begin(budget_, minimum)) return nullptr;
  } else {
    memory = LinearMemory::reserve(reserved, guard);
    if (!memory || !memory->begin(budget_, minimum)) return nullptr;
    // A memory that is not exported is a linear one too.
    const InitialMemory* initial = about_.initial;
    if (initial != nullptr && initial->end() <= minimum && !initial->put(memory->base()))
      return nullptr;
  }
  if (is_linear) linear_ = memory.get();
  return memory.release();
}

void make_memory_here(wasm_config_t* config) {
  wasmtime_memory_creator_t creator{.env = nullptr, .new_memory = new_memory, .finalizer = nullptr};
  wasmtime_config_host_memory_creator_set(config, &creator);
}

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
#include "wasm/linear_memory.h"

#include <sys/mman.h>
#include <wasmtime.h>

#include <new>

namespace cloche::wasm {
namespace {

thread_local const MemoryScope* current_scope = nullptr;

// [ guard ][ size: accessible ][ up to reserved: not yet ][ guard ]
struct LinearMemory {
  explicit LinearMemory(std::shared_ptr<MemoryBudget> budget) noexcept
      : charge(std::move(budget)) {}
  ~LinearMemory() {
    if (mapping != MAP_FAILED) munmap(mapping, mapped);
  }
  LinearMemory(const LinearMemory&) = delete;
  LinearMemory& operator=(const LinearMemory&) = delete;

  MemoryCharge charge;
  void* mapping = MAP_FAILED;
  std::size_t mapped = 0;
  std::byte* base = nullptr;
  std::size_t size = 0;
  std::size_t reserved = 0;

  bool reserve(std::size_t bytes, std::size_t guard) noexcept {
    if (__builtin_add_overflow(bytes, guard, &mapped) ||
        __builtin_add_overflow(mapped, guard, &mapped)) {
      return false;
    }
    mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    base = static_cast<std::byte*>(mapping) + guard;
    reserved = bytes;
    return true;
  }

  bool grow_to(std::size_t bytes) noexcept {
    if (bytes < size || bytes > reserved) return false;
    const std::size_t more = bytes - size;
    if (!charge.add(more)) return false;
    if (more > 0 && mprotect(base + size, more, PROT_READ | PROT_WRITE) != 0) {
      charge.give_back(more);
      return false;
    }
    size = bytes;
    return true;
  }
};

std::uint8_t* get_memory(void* env, std::size_t* size, std::size_t* capacity) noexcept {
  const auto& memory = *static_cast<LinearMemory*>(env);
  *size = memory.size;
  *capacity = memory.reserved;
  return reinterpret_cast<std::uint8_t*>(memory.base);
}

wasmtime_error_t* grow_memory(void* env, std::size_t new_size) noexcept {
  if (static_cast<LinearMemory*>(env)->grow_to(new_size)) return nullptr;
  return wasmtime_error_new("there is no more memory");
}

void delete_memory(void* env) noexcept { delete static_cast<LinearMemory*>(env); }

wasmtime_error_t* new_memory(void*, const wasm_memorytype_t*, std::size_t minimum, std::size_t,
                             std::size_t reserved, std::size_t guard,
                             wasmtime_linear_memory_t* out) noexcept {
  const MemoryScope* scope = current_scope;
  if (scope == nullptr) return wasmtime_error_new("memory is made outside of a guest's call");
  std::unique_ptr<LinearMemory> memory(new (std::nothrow) LinearMemory(scope->budget()));
  if (!memory || !memory->reserve(reserved, guard) || !memory->grow_to(minimum))
    return wasmtime_error_new("there is no more memory");
  // The heap of exceptions begins empty, so what has room for it is the linear memory.
  const InitialMemory* initial = scope->initial();
  if (initial != nullptr && initial->end() <= minimum && !initial->put(memory->base))
    return wasmtime_error_new("the program's data cannot be mapped");
  *out = {.env = memory.release(),
          .get_memory = get_memory,
          .grow_memory = grow_memory,
          .finalizer = delete_memory};
  return nullptr;
}

}  // namespace

MemoryScope::MemoryScope(const std::shared_ptr<MemoryBudget>& budget,
                         const InitialMemory* initial) noexcept
    : budget_(budget), initial_(initial), outer_(current_scope) {
  current_scope = this;
}

MemoryScope::~MemoryScope() { current_scope = outer_; }

void make_memory_here(wasm_config_t* config) {
  wasmtime_memory_creator_t creator{.env = nullptr, .new_memory = new_memory, .finalizer = nullptr};
  wasmtime_config_host_memory_creator_set(config, &creator);
}

}  // namespace cloche::wasm

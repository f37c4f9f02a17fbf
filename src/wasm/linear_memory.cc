// SPDX-License-Identifier: Apache-2.0
#include "wasm/linear_memory.h"

#include <sys/mman.h>
#include <wasmtime.h>

#include <new>

namespace cloche::wasm {

// [ guard ][ size: accessible ][ up to reserved: not yet ][ guard ]
class MemoryBlock {
 public:
  explicit MemoryBlock(std::shared_ptr<MemoryBudget> budget) noexcept
      : charge_(std::move(budget)) {}
  ~MemoryBlock() {
    if (mapping_ != MAP_FAILED) munmap(mapping_, mapped_);
  }
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t reserved() const noexcept { return reserved_; }

  bool reserve(std::size_t bytes, std::size_t guard) noexcept {
    if (__builtin_add_overflow(bytes, guard, &mapped_) ||
        __builtin_add_overflow(mapped_, guard, &mapped_)) {
      return false;
    }
    mapping_ =
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(mapping_) + guard;
    reserved_ = bytes;
    return true;
  }

  // At least so many bytes: another instance may have grown it already.
  bool grow_to(std::size_t bytes) noexcept {
    if (bytes <= size_) return true;
    if (bytes > reserved_) return false;
    const std::size_t more = bytes - size_;
    if (!charge_.add(more)) return false;
    if (mprotect(base_ + size_, more, PROT_READ | PROT_WRITE) != 0) {
      charge_.give_back(more);
      return false;
    }
    size_ = bytes;
    return true;
  }

 private:
  MemoryCharge charge_;
  void* mapping_ = MAP_FAILED;
  std::size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
};

namespace {

thread_local const MemoryScope* current_scope = nullptr;

// What wasmtime holds: one of those who share the block.
struct LinearMemory {
  std::shared_ptr<MemoryBlock> block;
};

std::uint8_t* get_memory(void* env, std::size_t* size, std::size_t* capacity) noexcept {
  const MemoryBlock& block = *static_cast<LinearMemory*>(env)->block;
  *size = block.size();
  *capacity = block.reserved();
  return reinterpret_cast<std::uint8_t*>(block.base());
}

wasmtime_error_t* grow_memory(void* env, std::size_t new_size) noexcept {
  if (static_cast<LinearMemory*>(env)->block->grow_to(new_size)) return nullptr;
  return wasmtime_error_new("there is no more memory");
}

void delete_memory(void* env) noexcept { delete static_cast<LinearMemory*>(env); }

std::shared_ptr<MemoryBlock> make_block(const MemoryScope& scope, std::size_t minimum,
                                        std::size_t reserved, std::size_t guard) {
  auto block = std::make_shared<MemoryBlock>(scope.budget());
  if (!block->reserve(reserved, guard) || !block->grow_to(minimum)) return nullptr;
  // The heap of exceptions begins empty, so what has room for it is the linear memory.
  const InitialMemory* initial = scope.initial();
  if (initial != nullptr && initial->end() <= minimum && !initial->put(block->base()))
    return nullptr;
  return block;
}

wasmtime_error_t* new_memory(void*, const wasm_memorytype_t*, std::size_t minimum, std::size_t,
                             std::size_t reserved, std::size_t guard,
                             wasmtime_linear_memory_t* out) noexcept {
  const MemoryScope* scope = current_scope;
  if (scope == nullptr) return wasmtime_error_new("memory is made outside of a guest's call");
  try {
    std::shared_ptr<MemoryBlock>* first = minimum > 0 ? scope->block() : nullptr;
    std::shared_ptr<MemoryBlock> block =
        first != nullptr && *first ? *first : make_block(*scope, minimum, reserved, guard);
    if (!block || block->size() < minimum || block->reserved() < reserved)
      return wasmtime_error_new("there is no more memory");
    if (first != nullptr) *first = block;
    *out = {.env = new LinearMemory{std::move(block)},
            .get_memory = get_memory,
            .grow_memory = grow_memory,
            .finalizer = delete_memory};
    return nullptr;
  } catch (const std::bad_alloc&) {
    return wasmtime_error_new("there is no more memory");
  }
}

}  // namespace

MemoryScope::MemoryScope(const std::shared_ptr<MemoryBudget>& budget, const InitialMemory* initial,
                         std::shared_ptr<MemoryBlock>* block) noexcept
    : budget_(budget), initial_(initial), block_(block), outer_(current_scope) {
  current_scope = this;
}

std::size_t size_of(const MemoryBlock& block) noexcept { return block.size(); }

MemoryScope::~MemoryScope() { current_scope = outer_; }

void make_memory_here(wasm_config_t* config) {
  wasmtime_memory_creator_t creator{.env = nullptr, .new_memory = new_memory, .finalizer = nullptr};
  wasmtime_config_host_memory_creator_set(config, &creator);
}

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
// Ref<T>: an intrusive, atomically counted reference: the nodes of MemFs's persistent structures.
//
// T has `std::atomic<std::uint32_t> refs{1}`, `static void destroy(T*) noexcept` and `static T*
// clone(const T&)`. A node with one reference belongs to whoever holds it and may be changed; one
// with more is shared, maybe with other threads, and only read. mut() keeps to that by cloning.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace cloche::vfs {

template <typename T>
void ref_retain(T* node) noexcept {
  node->refs.fetch_add(1, std::memory_order_relaxed);
}

template <typename T>
void ref_release(T* node) noexcept {
  if (node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) T::destroy(node);
}

template <typename T>
bool ref_unique(const T* node) noexcept {
  return node->refs.load(std::memory_order_acquire) == 1;
}

template <typename T>
class Ref {
 public:
  Ref() = default;
  // Takes over the reference that a new node is born with.
  static Ref adopt(T* node) noexcept {
    Ref ref;
    ref.node_ = node;
    return ref;
  }
  Ref(const Ref& other) noexcept : node_(other.node_) {
    if (node_) ref_retain(node_);
  }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() {
    if (node_) ref_release(node_);
  }

  explicit operator bool() const { return node_ != nullptr; }
  const T* get() const { return node_; }
  const T& operator*() const { return *node_; }
  const T* operator->() const { return node_; }
  T* release() noexcept { return std::exchange(node_, nullptr); }

  // The node for changing: itself when it is ours alone, or a clone of it, which replaces it
  // here.
  T& mut() {
    if (!ref_unique(node_)) {
      T* copy = T::clone(*node_);
      ref_release(node_);
      node_ = copy;
    }
    return *node_;
  }

 private:
  T* node_ = nullptr;
};

}  // namespace cloche::vfs

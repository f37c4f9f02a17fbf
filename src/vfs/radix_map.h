// SPDX-License-Identifier: Apache-2.0
// RadixMap<T>: a persistent map from 64-bit keys to Ref<T>. Copying the map is O(1); a change after
// that clones the path to the key (32 slots a level) and nothing else. Copies may be used on
// different threads.
//
// It grows upward with the largest key: keys below 32^height fit. Height 0 holds key 0 alone,
// without any node, so a map with one small entry costs nothing but that entry. Depth, and so
// recursion, is bounded by 13.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "vfs/ref.h"

namespace cloche::vfs {

template <typename T>
class RadixMap {
 public:
  RadixMap() = default;
  RadixMap(const RadixMap& other) noexcept
      : root_(other.root_), height_(other.height_), count_(other.count_) {
    retain(root_, height_);
  }
  RadixMap(RadixMap&& other) noexcept
      : root_(std::exchange(other.root_, nullptr)),
        height_(std::exchange(other.height_, 0)),
        count_(std::exchange(other.count_, 0)) {}
  RadixMap& operator=(RadixMap other) noexcept {
    std::swap(root_, other.root_);
    std::swap(height_, other.height_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~RadixMap() { drop(root_, height_); }

  std::uint64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  const T* find(std::uint64_t key) const {
    if (!fits(key, height_)) return nullptr;
    const void* at = root_;
    for (unsigned level = height_; level > 0 && at; --level) {
      at = static_cast<const Node*>(at)->slots[slot_of(key, level)];
    }
    return static_cast<const T*>(at);
  }

  // The entry of a key that is there, for changing.
  T& mut(std::uint64_t key) {
    void*& at = *own_path(key);
    CLOCHE_CHECK(at);
    T* entry = static_cast<T*>(at);
    if (!ref_unique(entry)) {
      T* copy = T::clone(*entry);
      ref_release(entry);
      at = entry = copy;
    }
    return *entry;
  }

  // Inserts, or replaces what is there.
  void put(std::uint64_t key, Ref<T> value) {
    while (!fits(key, height_)) grow();
    void*& at = *own_path(key);
    if (at) {
      ref_release(static_cast<T*>(at));
    } else {
      ++count_;
    }
    at = value.release();
  }

  void erase(std::uint64_t key) {
    if (!find(key)) return;
    --count_;
    erase_below(root_, height_, key, key);
    shrink();
  }

  // Erases all keys in [first, last]; cost in proportion to what is there.
  void erase_range(std::uint64_t first, std::uint64_t last) {
    count_ -= count_below(root_, height_, 0, first, last);
    erase_below(root_, height_, first, last);
    shrink();
  }

  // The smallest key >= `key` that is there.
  std::optional<std::uint64_t> next(std::uint64_t key) const {
    return next_below(root_, height_, key, 0);
  }

  // Calls visit(key, before, after) for each key whose entry is not the same node in both, in the
  // order of keys; nullptr: it is not there. Cost in proportion to what differs, whatever the maps
  // hold, where one is a later copy of the other.
  template <typename Visit>
  static void differences(const RadixMap& before, const RadixMap& after, const Visit& visit) {
    const Branch old{before.root_, before.height_};
    const Branch now{after.root_, after.height_};
    differ(old, now, std::max(before.height_, after.height_), 0, visit);
  }

  // Number of keys in [first, last].
  std::uint64_t count(std::uint64_t first, std::uint64_t last) const {
    return count_below(root_, height_, 0, first, last);
  }

 private:
  static constexpr unsigned bits = 5, fanout = 1u << bits;

  struct Node {
    std::atomic<std::uint32_t> refs{1};
    std::uint32_t used = 0;
    std::array<void*, fanout> slots{};
  };

  static bool fits(std::uint64_t key, unsigned height) {
    return height * bits >= 64 || (key >> (height * bits)) == 0;
  }
  // 13 levels hold every key, so the bound never cuts; it says so to whoever checks shifts.
  static unsigned shift_of(unsigned level) { return std::min((level - 1) * bits, 60u); }
  static unsigned slot_of(std::uint64_t key, unsigned level) {
    return static_cast<unsigned>(key >> shift_of(level)) & (fanout - 1);
  }
  // Keys that one slot of a node at `level` spans, minus one.
  static std::uint64_t span_mask(unsigned level) {
    return (std::uint64_t{1} << shift_of(level)) - 1;
  }

  // `level` 0: an entry; above: a node whose children are of the level below.
  static void retain(void* at, unsigned level) noexcept {
    if (!at) return;
    if (level == 0) {
      ref_retain(static_cast<T*>(at));
    } else {
      ref_retain(static_cast<Node*>(at));
    }
  }
  static void drop(void* at, unsigned level) noexcept {
    if (!at) return;
    if (level == 0) {
      ref_release(static_cast<T*>(at));
      return;
    }
    Node* node = static_cast<Node*>(at);
    if (node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    for (void* child : node->slots) drop(child, level - 1);
    delete node;
  }

  static Node& own(void*& at, unsigned level) {
    Node* node = static_cast<Node*>(at);
    if (!ref_unique(node)) {
      Node* copy = new Node;
      copy->used = node->used;
      copy->slots = node->slots;
      for (void* child : copy->slots) retain(child, level - 1);
      drop(node, level);
      at = node = copy;
    }
    return *node;
  }

  // The slot of `key`, with every node above it made, and made ours alone.
  void** own_path(std::uint64_t key) {
    void** at = &root_;
    for (unsigned level = height_; level > 0; --level) {
      if (!*at) *at = new Node;
      Node& node = own(*at, level);
      void** child = &node.slots[slot_of(key, level)];
      // The caller fills what is empty.
      if (!*child) ++node.used;
      at = child;
    }
    return at;
  }

  void grow() {
    if (root_) {
      Node* node = new Node;
      node->used = 1;
      node->slots[0] = root_;
      root_ = node;
    }
    ++height_;
  }

  void shrink() {
    if (!root_) {
      height_ = 0;
      return;
    }
    while (height_ > 0) {
      Node* node = static_cast<Node*>(root_);
      if (node->used != 1 || !node->slots[0] || !ref_unique(node)) return;
      root_ = node->slots[0];
      delete node;
      --height_;
    }
  }

  // Keys here are relative to the subtree.
  static void erase_below(void*& at, unsigned level, std::uint64_t first, std::uint64_t last) {
    if (!at || first > last) return;
    if (level == 0) {
      if (first == 0) {
        drop(at, 0);
        at = nullptr;
      }
      return;
    }
    const std::uint64_t below = span_mask(level);
    const unsigned shift = shift_of(level);
    const std::uint64_t from = first >> shift, to = last >> shift;
    if (from >= fanout) return;
    const unsigned end = static_cast<unsigned>(std::min<std::uint64_t>(to, fanout - 1));
    bool any = false;
    for (unsigned i = static_cast<unsigned>(from); i <= end; ++i) {
      any = any || static_cast<Node*>(at)->slots[i] != nullptr;
    }
    if (!any) return;
    Node& node = own(at, level);
    for (unsigned i = static_cast<unsigned>(from); i <= end; ++i) {
      void*& child = node.slots[i];
      if (!child) continue;
      const std::uint64_t low = i == from ? first & below : 0;
      const std::uint64_t high = i == to ? last & below : below;
      if (low == 0 && high == below) {
        drop(child, level - 1);
        child = nullptr;
      } else {
        erase_below(child, level - 1, low, high);
      }
      if (!child) --node.used;
    }
    if (node.used == 0) {
      delete &node;
      at = nullptr;
    }
  }

  static std::uint64_t count_below(const void* at, unsigned level, std::uint64_t base,
                                   std::uint64_t first, std::uint64_t last) {
    if (!at || first > last) return 0;
    if (level == 0) return base >= first && base <= last ? 1 : 0;
    const std::uint64_t below = span_mask(level);
    std::uint64_t count = 0;
    for (unsigned i = 0; i < fanout; ++i) {
      const void* child = static_cast<const Node*>(at)->slots[i];
      if (!child) continue;
      const std::uint64_t low = base + (std::uint64_t{i} << shift_of(level));
      if (low > last || low + below < first) continue;
      count += count_below(child, level - 1, low, first, last);
    }
    return count;
  }

  struct Branch {
    const void* at;
    unsigned level;  // of `at` itself
  };

  // What a branch has in a slot of a node of `level`. One that is not as high is all in slot 0.
  static Branch child_of(const Branch& branch, unsigned level, unsigned slot) {
    if (branch.level < level) return slot == 0 ? branch : Branch{nullptr, level - 1};
    const void* child = branch.at ? static_cast<const Node*>(branch.at)->slots[slot] : nullptr;
    return {child, level - 1};
  }

  template <typename Visit>
  static void differ(const Branch& before, const Branch& after, unsigned level, std::uint64_t base,
                     const Visit& visit) {
    if (before.at == after.at) return;
    if (level == 0) {
      visit(base, static_cast<const T*>(before.at), static_cast<const T*>(after.at));
      return;
    }
    for (unsigned i = 0; i < fanout; ++i) {
      const Branch old = child_of(before, level, i);
      const Branch now = child_of(after, level, i);
      if (old.at == now.at) continue;
      differ(old, now, level - 1, base + (std::uint64_t{i} << shift_of(level)), visit);
    }
  }

  static std::optional<std::uint64_t> next_below(const void* at, unsigned level, std::uint64_t key,
                                                 std::uint64_t base) {
    if (!at) return std::nullopt;
    if (level == 0) return base >= key ? std::optional(base) : std::nullopt;
    const std::uint64_t below = span_mask(level);
    for (unsigned i = 0; i < fanout; ++i) {
      const void* child = static_cast<const Node*>(at)->slots[i];
      if (!child) continue;
      const std::uint64_t low = base + (std::uint64_t{i} << shift_of(level));
      if (low + below < key) continue;
      if (const auto found = next_below(child, level - 1, key, low)) return found;
    }
    return std::nullopt;
  }

  void* root_ = nullptr;
  unsigned height_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace cloche::vfs

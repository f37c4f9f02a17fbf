// SPDX-License-Identifier: Apache-2.0
// HandleCounts: how many Nodes refer to each inode of a MemFs. Open addressing: this is on every
// path walk.
#pragma once

#include <cstdint>
#include <vector>

#include "vfs/types.h"

namespace cloche::vfs::memfs {

class HandleCounts {
 public:
  HandleCounts() : slots_(32) {}

  void add(Ino ino) {
    Slot& slot = slots_[find(ino)];
    if (slot.count == 0) {
      slot.ino = ino;
      slot.count = 1;
      if (++used_ * 2 > slots_.size()) grow();
    } else {
      ++slot.count;
    }
  }

  // True when that was the last one. `ino` must have been added.
  bool remove(Ino ino) noexcept {
    std::size_t at = find(ino);
    if (--slots_[at].count != 0) return false;
    --used_;
    close_gap(at);
    return true;
  }

  bool has(Ino ino) const { return slots_[find(ino)].count != 0; }

 private:
  struct Slot {
    Ino ino = 0;
    std::uint64_t count = 0;
  };

  std::size_t home(Ino ino) const {
    return static_cast<std::size_t>((ino * 0x9e3779b97f4a7c15u) >> 32) & (slots_.size() - 1);
  }
  // The slot of `ino`, or the empty one where it would go.
  std::size_t find(Ino ino) const {
    std::size_t at = home(ino);
    while (slots_[at].count != 0 && slots_[at].ino != ino) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  // Moves back what had been pushed past the slot that is empty now.
  void close_gap(std::size_t gap) noexcept {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (gap + 1) & mask; slots_[at].count != 0; at = (at + 1) & mask) {
      if (((at - home(slots_[at].ino)) & mask) < ((at - gap) & mask)) continue;
      slots_[gap] = slots_[at];
      slots_[at].count = 0;
      gap = at;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count != 0) slots_[find(slot.ino)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace cloche::vfs::memfs

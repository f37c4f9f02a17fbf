// SPDX-License-Identifier: Apache-2.0
// What a program's linear memory holds before its first instruction.
//
// wasmtime writes data segments into each new instance, one copy each. Ours lie in the file of the
// machine code instead, and are mapped: an instance has its data at once, and a page of its own
// only where it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace cloche::wasm {

// A program without its data, and its data as one piece of memory: whole pages from `start` on.
struct SplitProgram {
  std::vector<std::byte> wasm;
  std::uint64_t start = 0;
  std::vector<std::byte> data;
};

// Nothing when the data must stay where it is: it lies where only the engine can tell, beyond the
// memory (then there is no instance), or far apart; or there is none. `wasm` may be any bytes; what
// is no program is for the compiler to refuse.
std::optional<SplitProgram> split_data(std::span<const std::byte> wasm);

// That data in a file. Immutable; any thread.
class InitialMemory {
 public:
  InitialMemory() = default;
  // `length` bytes at `offset` of the file, which is mapped or read as it is: all are multiples of
  // the page size. Small data is read now, and the file is not kept open.
  static std::optional<InitialMemory> open(int fd, std::uint64_t offset, std::uint64_t length,
                                           std::uint64_t start);

  // Writes it into a fresh memory of at least end() bytes at `base`. False when the host refuses.
  bool put(std::byte* base) const noexcept;
  std::uint64_t end() const noexcept { return length_ == 0 ? 0 : start_ + length_; }

 private:
  UniqueFd file_;
  std::vector<std::byte> bytes_;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t start_ = 0;
};

}  // namespace cloche::wasm

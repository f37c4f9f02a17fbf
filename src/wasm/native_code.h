// SPDX-License-Identifier: Apache-2.0
// Where the machine code of a program lies in this process. For this layer.
//
// A module's image is an ELF file in which wasmtime names each piece of its code: first the
// program's own functions, then the trampolines by which the host enters them and they leave.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

struct wasmtime_module;

namespace cloche::wasm {

// Of the program's own functions, without a trampoline and without the exits of make_preemptible.
struct NativeCode {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t raise = 0;  // the function that raises what a handler has thrown
  std::uintptr_t trap = 0;   // an instruction that traps
  // The functions that catch exceptions, in order.
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  std::vector<Range> catching{};

  bool catches(std::uintptr_t address) const noexcept {
    const auto next = std::ranges::upper_bound(catching, address, {}, &Range::begin);
    return next != catching.begin() && address < std::prev(next)->end;
  }

  bool contains(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
  // The same with the exits.
  bool contains_exits(std::uintptr_t address) const noexcept {
    return address >= begin && address <= trap;
  }
  std::size_t size() const noexcept { return end - begin; }
};

// Nothing where the image is not as this was written for: of another wasmtime, or of a program
// whose last functions are not those of make_preemptible.
std::optional<NativeCode> functions_of(const wasmtime_module* module);

// The same in an image that was just made, as offsets from its start, with every symbol looked at:
// nothing where a function lies beyond a trampoline, or begins in another way than
// `guest_stack_state` (preemption.cc) expects.
std::optional<NativeCode> check_layout(std::span<const std::byte> image) noexcept;

}  // namespace cloche::wasm

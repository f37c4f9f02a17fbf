// SPDX-License-Identifier: Apache-2.0
// Modules that are valid and small, and that compiling takes gigabytes or for ever; and whether
// somebody still tries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cloche::wasm {

// One exported _start: `loops` loops, one in the other, each with a use of some of `locals`
// variables, all of which live through all of them. 2,000 by 1,000 is 16 KB, and takes all memory
// in the twentieth part of a second.
std::vector<std::byte> compile_bomb(std::uint32_t locals, std::uint32_t loops,
                                    std::uint32_t functions = 1);

// One of many small functions: it is time that it takes, half a minute of CPU and more.
std::vector<std::byte> slow_compile_bomb();

// Whether a compiler lives that was started by the process `parent`.
bool compiler_lives(int parent);

}  // namespace cloche::wasm

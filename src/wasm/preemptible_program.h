// SPDX-License-Identifier: Apache-2.0
// What a program gets before it is compiled, so that signals can interrupt it (preemption.h).
//
// memory.copy and memory.fill become functions of its own. The engine does both in the host's code,
// where a signal can do nothing: a guest that mostly copies would be there whenever one comes. As
// functions they are stopped like any other, and short ones, which are most, cost less than a call
// out of the guest. And the last function does nothing but trap: a guest that must end is made to
// go on there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace cloche::wasm {

// Nothing where it has code that this does not know, or none; what is no valid program may come out
// as one that is none either.
std::optional<std::vector<std::byte>> make_preemptible(std::span<const std::byte> wasm);

}  // namespace cloche::wasm

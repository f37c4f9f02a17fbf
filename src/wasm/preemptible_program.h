// SPDX-License-Identifier: Apache-2.0
// What a program gets before it is compiled, so that signals can interrupt it (preemption.h).
//
// memory.copy and memory.fill become functions of its own. The engine does both in the host's code,
// where a signal can do nothing: a guest that mostly copies would be there whenever one comes. As
// functions they are stopped like any other, and short ones, which are most, cost less than a call
// out of the guest. memory.grow and throw stay the engine's, and a function that counts to 256 is
// called beside each: in a loop of nothing else a processor that does its few instructions at once
// was never seen to be interrupted in one of them. The last three functions are exits, in which
// nothing is interrupted:
// - where the program has handlers of signals (`__cloche_signal`), its `throw` is a call of the
//   first: between its instructions the engine has an exception that nobody else knows of;
// - the second raises what a handler has thrown: it calls the host, which answers that;
// - the last does nothing but trap: a guest that must end is made to go on there.
//
// Handlers are called between any two instructions, and the frames of who stands there are not
// looked at meanwhile. So a program that has some must not keep an exception as a value, which the
// engine's collector would have to find there. A C program catches one, and throws it again from
// where it was to be caught: there its number, which is all that it has, stands for it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace cloche::wasm {

inline constexpr std::size_t functions_of_exits = 3;

// Nothing where it has code that this does not know or allow, or none. What is no valid program may
// come out as one that is none either; so may one with handlers that does more with an exception
// than throwing it again.
std::optional<std::vector<std::byte>> make_preemptible(std::span<const std::byte> wasm);

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
// The threads on which programs are compiled. The library makes them at its first compile, as many
// as there are CPUs, and keeps them; where the host does not give it one of them it ends the
// process.
#pragma once

namespace cloche::wasm {

// Whether the host gives them, which is tried until it has: asked for before a compile.
bool has_compiler_threads();

}  // namespace cloche::wasm

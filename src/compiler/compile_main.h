// SPDX-License-Identifier: Apache-2.0
// cloche-compile: compiles one program that a guest brought, and ends. Started by
// wasm::GuestCompiler; the words and descriptors are told there.
#pragma once

namespace cloche::compiler {

// The program that is this when it is called by this name.
inline constexpr const char* program_name = "cloche-compile";

int compile_main(int argc, char** argv);

}  // namespace cloche::compiler

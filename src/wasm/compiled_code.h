// SPDX-License-Identifier: Apache-2.0
// The file of a program's machine code: how it is made, and how it is used.
//
//   [ machine code, as wasmtime wrote it ] [ to a whole page ] [ initial memory ] [ footer ]
//
// For ModuleStore.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "wasm/engine.h"
#include "wasm/initial_memory.h"
#include "wasm/interruption.h"
#include "wasm/native.h"
#include "wasm/native_code.h"

namespace cloche::wasm {

// Compiles a program and writes its file to `fd`, an empty one. ENOEXEC for what is no valid
// program, and for one that signals shall interrupt and cannot; EIO when it cannot be written.
Result<void, Error> compile_to_file(const Engine& engine, std::span<const std::byte> wasm, int fd,
                                    Interruption interruption = Interruption::epochs);

struct OpenedCode {
  Native<wasmtime_module_t> module;
  InitialMemory initial;
  std::optional<NativeCode> preempted{};  // where signals interrupt it
};

// Nothing when the file is not whole, or for another engine. The content is trusted: it is
// executed.
std::optional<OpenedCode> open_code_file(const Engine& engine, int fd,
                                         Interruption interruption = Interruption::epochs);

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
// The base layer: the read-only system that all sandboxes of an engine share, from the folder that
// userland/build makes.
#pragma once

#include <filesystem>
#include <vector>

#include "kernel/process/program.h"
#include "vfs/base_builder.h"

namespace cloche::sandbox {

// How the machine code of the system's own programs is interrupted: by signals, where this machine
// can do that. As $CLOCHE_PREEMPTION says, that of the interpreter alone (`interpreter`), or none
// (`0`).
enum class SystemCode : std::uint8_t { interpreter, tools };
wasm::Interruption interruption_of(SystemCode code);

// Adds the tree of the system in `folder` (system_folder.h), its programs to `programs` too, and
// the folders that belong to the user. Throws HostError with one sentence when the folder is not a
// whole system.
void add_system(vfs::BaseBuilder& builder, kernel::ProgramStore& programs,
                const std::filesystem::path& folder);

// The WebAssembly files of the system in `folder`, the interpreter of Python with them. Throws as
// above.
std::vector<std::filesystem::path> programs_of_system(const std::filesystem::path& folder);

}  // namespace cloche::sandbox

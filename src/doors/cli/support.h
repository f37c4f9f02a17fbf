// SPDX-License-Identifier: Apache-2.0
// What several commands of `cloche` need.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cloche/engine.h"
#include "cloche/run.h"
#include "doors/cli/options.h"
#include "doors/cli/out_places.h"

namespace cloche::cli {

// The exit status where cloche cannot do what is asked.
inline constexpr int failure = 2;

// "cloche: SENTENCE" on standard error; nothing where that is closed or full. Any thread.
void complain(std::string_view sentence) noexcept;

// Those of a command line: progress goes to standard error.
EngineOptions engine_options();
// Where the options ask for it the trace of system calls goes there too.
SandboxOptions sandbox_options(const Options& options);

// The engine of a command that makes the sandbox of `options` and no other, with the process in its
// jail (doors/cli/jail.h). Throws HostError.
std::unique_ptr<Engine> jailed_engine(const Options& options, const OutPlaces& places);

// What a command writes, to this process's own streams. Where nobody reads it any more, or it
// cannot be written, this process ends.
void pass_on(Stream stream, std::string_view data);

// `-`; a file of that name is `./-`.
bool is_standard_output(const CopyOut& copy);

}  // namespace cloche::cli

// SPDX-License-Identifier: Apache-2.0
// What all ways to run a command have in common: from RunOptions to a process, and from its end to
// a RunResult.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cloche/run.h"
#include "kernel/host/host_ports.h"
#include "kernel/process/process.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/kernel_lock.h"
#include "sandbox/clean_output.h"

namespace cloche::sandbox {

class SandboxState;

// A request without files: the shell for a script, what PATH finds for a program. ENOENT when PATH
// finds nothing.
Result<kernel::SpawnRequest> command_request(SandboxState& state, const RunOptions& options);
// The same; the user's login shell where there is neither.
Result<kernel::SpawnRequest> live_command_request(SandboxState& state, const RunOptions& options);

// Where its `cwd` leads: a relative one below the home folder. Empty: the home folder.
std::string directory_of(const SandboxState& state, const RunOptions& options);
// ENOENT, ENOTDIR and the like, when there is no such directory.
Result<void> check_directory(SandboxState& state, const RunOptions& options);

// What gives a stream to the callback of a run.
CleanOutput::Reader reader_of(OutputCallback output, Stream stream);

// A stream of a command that writes to a file of the host.
struct Output {
  std::unique_ptr<kernel::HostCapture> port;
  CleanOutput clean;
};
struct Outputs {
  Output out;
  Output err;

  // Once those that will write have them: from then on it is known when nobody does any more.
  void release_guest_ends();
  bool are_open() const REQUIRES(kernel::kernel_lock);
  std::array<kernel::WaitQueue*, 2> closed() const REQUIRES(kernel::kernel_lock);
};
// Where a stream of the command goes: kept, or passed on when there is a callback; in either case
// without secrets.
Output make_output(SandboxState& state, const RunOptions& options, Stream stream);
// After the end of the command: a moment for what it has left behind and still writes, such as the
// tee of `exec > >(tee log)`. Processes that only wait, and those that write elsewhere, hold
// nothing up.
void let_settle(kernel::Kernel& kernel, kernel::JobId job, const Outputs& outputs)
    EXCLUDES(kernel::kernel_lock);
// What was kept goes to the result; from then on what processes of the background write is dropped.
void take_output(Output& output, const RunOptions& options, Stream stream, RunResult& result);

// By Sandbox::cancel, kill or RunOptions::stop.
enum class Cancelled : std::uint8_t { no, yes };
// The parts of a result that say how it ended.
RunResult not_started(SandboxState& state, const RunOptions& options, Errno error);
// The same where that may have been the run's own end, which came while its program was compiled.
RunResult ended_before_begin(SandboxState& state, const RunOptions& options, Errno error,
                             std::chrono::milliseconds limit, Cancelled cancelled);
void set_timed_out(RunResult& result, std::chrono::milliseconds limit);
// `cancelled`: where a signal ended it. Takes the kernel lock.
void set_ended(RunResult& result, kernel::WaitStatus status, const kernel::Process& process,
               Cancelled cancelled) EXCLUDES(kernel::kernel_lock);

}  // namespace cloche::sandbox

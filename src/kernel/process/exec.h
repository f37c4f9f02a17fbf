// SPDX-License-Identifier: Apache-2.0
// exec: from a path to a program that is ready to start, with Linux's rules (permissions, #! lines,
// limits).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/process/process.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"
#include "vfs/namespace.h"

namespace cloche::kernel {

struct ExecRequest {
  std::string path;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  // Where a relative path starts; empty: the process's directory.
  vfs::Node start;
  vfs::Follow follow = vfs::Follow::yes;
};

// What a word of argv or the environment takes of KernelLimits::argument_bytes: itself and a
// pointer to it, as on Linux of 64 bits, so that what fits there fits here.
constexpr std::size_t argument_weight(std::string_view word) { return word.size() + 1 + 8; }

// What exec changes in the process that it happens to.
struct ExecIdentity {
  std::string name;  // comm
  std::string exe;   // absolute path of the program (of the interpreter, for a script)
  std::shared_ptr<const ProgramWords> words;
};

struct LoadedProgram {
  std::shared_ptr<const Program> program;
  ExecIdentity identity;
};

// Finds, checks and loads; nothing of `process` changes. Errors are those of execve(2), and ENOMEM
// where the sandbox has no memory for what the program is given. Kernel lock held; it is released
// while a program is compiled, so `process` may have been killed in between. Who waits for the
// compiler does so for as long as somebody wants the program: until `task`, which is the caller's,
// is told to end (EINTR), or, where there is none, until the kernel's processes are killed or
// `stop` is asked for (EINTR), or the process's clock is over (ETIMEDOUT). With the last of those
// who wait ends the compiler of a program that the user brought. That of the system's own goes on,
// for who comes next, and stops the process's clock meanwhile.
Result<LoadedProgram> load_program(Kernel& kernel, const Process& process, ExecRequest request,
                                   Task* task, const std::stop_token& stop = {})
    REQUIRES(kernel_lock);

// The program of a tag for the host, which runs nothing yet. EINTR as above, and when `give_up`
// says true, which is asked without locks.
Result<std::shared_ptr<const Program>> load_for_host(Kernel& kernel, ProgramTag tag,
                                                     const std::function<bool()>& give_up = {})
    EXCLUDES(kernel_lock);

// The point of no return: names, close-on-exec, signal dispositions, memory map.
void apply_exec(Process& process, ExecIdentity identity) REQUIRES(kernel_lock);

}  // namespace cloche::kernel

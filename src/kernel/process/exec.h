// SPDX-License-Identifier: Apache-2.0
// exec: from a path to a program that is ready to start, with Linux's rules (permissions, #! lines,
// limits).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/process/process.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"
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

// What exec changes in the process that it happens to.
struct ExecIdentity {
  std::string name;  // comm
  std::string exe;   // absolute path of the program (of the interpreter, for a script)
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

struct LoadedProgram {
  std::shared_ptr<const Program> program;
  ExecIdentity identity;
};

// Finds, checks and loads; nothing of `process` changes. Errors are those of execve(2). Kernel lock
// held; it is released while a program is compiled, so `process` may have been killed in between. A
// program that the user brought is compiled for as long as somebody wants it: until `task`, which
// is the caller's, is told to end (EINTR), or, where there is none, until the kernel's processes
// are killed (EINTR) or `deadline` (ETIMEDOUT).
Result<LoadedProgram> load_program(Kernel& kernel, const Process& process, ExecRequest request,
                                   Task* task, Deadline deadline = std::nullopt)
    REQUIRES(kernel_lock);

// The point of no return: names, close-on-exec, signal dispositions, memory map.
void apply_exec(Process& process, ExecIdentity identity) REQUIRES(kernel_lock);

}  // namespace cloche::kernel

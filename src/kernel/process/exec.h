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
struct ExecImage {
  std::string name;  // comm
  std::string exe;   // absolute path of the program (of the interpreter, for a script)
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

struct LoadedProgram {
  std::shared_ptr<const Program> program;
  ExecImage image;
};

// Finds, checks and loads; nothing of `process` changes. Errors are those of execve(2). Kernel lock
// held; it is released while a program is compiled, so `process` may have been killed in between.
// `task`, when given, is the caller's: told to end, it stops waiting for a program that the user
// brought (EINTR), and the compiler goes on alone.
Result<LoadedProgram> load_program(Kernel& kernel, const Process& process, ExecRequest request,
                                   Task* task = nullptr);

// The point of no return: names, close-on-exec, signal dispositions, memory map.
void apply_exec(Process& process, ExecImage image);

}  // namespace cloche::kernel

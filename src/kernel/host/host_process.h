// SPDX-License-Identifier: Apache-2.0
// HostProcess: a process whose program is a function of the host's, KernelOptions::host_program. To
// everybody else in the sandbox it is a process as any other: it has a place in pipes and jobs,
// gets signals, is stopped, killed and waited for.
//
// Its functions wait as system calls do, and take the kernel lock themselves. Each of them is
// ECANCELED once the process must end (a signal, a kill, a time limit): the function returns then,
// and what it returns is not used. One that computes without calling any of them is not stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

class HostProcess {
 public:
  explicit HostProcess(Task& task);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // As it was executed.
  const std::vector<std::string>& argv() const noexcept { return argv_; }
  const std::vector<std::string>& environment() const noexcept { return environment_; }
  const std::string& directory() const noexcept { return directory_; }

  // For the process's own thread.
  //
  // As read(2) and write(2): short counts, 0 is the end of file; EPIPE where SIGPIPE is ignored.
  Result<std::size_t> read(std::int32_t fd, std::span<std::byte> to);
  Result<std::size_t> write(std::int32_t fd, std::span<const std::byte> from);
  // What of descriptors 0, 1 and 2 can go on without waiting: a write of PIPE_BUF bytes at most.
  // One that has failed, or is not open, can: the call says so.
  struct Ready {
    bool input = false;
    bool output = false;
    bool errors = false;
  };
  // Until something of what is wanted is ready, or wake() was called since the last wait.
  Result<Ready> wait(const Ready& wanted);

  // Any thread.
  void wake() EXCLUDES(kernel_lock);

 private:
  class Alarm;
  template <typename Body>
  auto call(Body&& body) EXCLUDES(kernel_lock);

  Task& task_;
  const std::shared_ptr<Alarm> alarm_;
  std::vector<std::string> argv_;
  std::vector<std::string> environment_;
  std::string directory_;
};

// What a process executes to be one: it has no module. Where the kernel has no
// KernelOptions::host_program it ends with status 126.
Program host_program();

}  // namespace cloche::kernel

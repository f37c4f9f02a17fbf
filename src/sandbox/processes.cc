// SPDX-License-Identifier: Apache-2.0
#include "sandbox/processes.h"

#include "kernel/kernel.h"
#include "kernel/proc/proc_text.h"
#include "kernel/process/signal.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

std::string command_of(const kernel::Process& process) REQUIRES(kernel::kernel_lock) {
  if (process.words->argv.empty()) return process.name;
  std::string command;
  for (const std::string& word : process.words->argv) {
    if (!command.empty()) command += ' ';
    command += word.substr(0, ProcessInfo::command_limit_bytes);
    if (command.size() >= ProcessInfo::command_limit_bytes) break;
  }
  command.resize(std::min(command.size(), ProcessInfo::command_limit_bytes));
  return command;
}

}  // namespace

std::vector<ProcessInfo> processes_of(SandboxState& state) {
  kernel::Kernel& kernel = state.kernel();
  std::vector<ProcessInfo> all;
  {
    const kernel::KernelLock lock(kernel.mutex());
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [pid, process] : kernel.processes()) {
      const kernel::proc::ProcessSummary summary = kernel::proc::process_summary(*process);
      all.push_back({.pid = pid,
                     .ppid = process->ppid,
                     .command = command_of(*process),
                     .state = summary.state,
                     .cpu = summary.cpu,
                     .memory_bytes = summary.memory_bytes,
                     .age = now - process->started});
    }
  }
  for (ProcessInfo& process : all) process.command = state.scrub(std::move(process.command));
  return all;
}

Result<void> signal_process(SandboxState& state, int pid, int number) {
  if (number < 1 || number > kernel::sigmax) return Errno::inval;
  kernel::Kernel& kernel = state.kernel();
  const kernel::KernelLock lock(kernel.mutex());
  const kernel::ProcessPtr process = kernel.find(pid);
  if (!process || process->state == kernel::ProcessState::zombie) return Errno::srch;
  return kernel.post(*process, {.signo = number, .code = kernel::si_kernel});
}

}  // namespace cloche::sandbox

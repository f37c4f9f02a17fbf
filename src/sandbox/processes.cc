// SPDX-License-Identifier: Apache-2.0
// The processes of a sandbox, as its owner sees them.
#include "cloche/observer.h"
#include "cloche/sandbox.h"
#include "kernel/proc/proc_text.h"
#include "kernel/process/signal.h"
#include "sandbox/sandbox_state.h"

namespace cloche {
namespace {

std::string command_of(const kernel::Process& process) {
  if (process.argv.empty()) return process.name;
  std::string command;
  for (const std::string& word : process.argv) {
    if (!command.empty()) command += ' ';
    command += word.substr(0, ProcessInfo::command_limit_bytes);
    if (command.size() >= ProcessInfo::command_limit_bytes) break;
  }
  command.resize(std::min(command.size(), ProcessInfo::command_limit_bytes));
  return command;
}

}  // namespace

std::vector<ProcessInfo> Sandbox::processes() const {
  kernel::Kernel& kernel = state_->kernel();
  std::vector<ProcessInfo> all;
  {
    const std::lock_guard lock(kernel.mutex());
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [pid, process] : kernel.processes()) {
      const kernel::proc::Figures figures = kernel::proc::process_figures(*process);
      all.push_back({.pid = pid,
                     .ppid = process->ppid,
                     .command = command_of(*process),
                     .state = figures.state,
                     .cpu = figures.cpu,
                     .memory_bytes = figures.memory_bytes,
                     .age = now - process->started});
    }
  }
  for (ProcessInfo& process : all) process.command = state_->scrub(std::move(process.command));
  return all;
}

Result<void> Sandbox::signal(int pid, int number) {
  if (number < 1 || number > kernel::sigmax) return Errno::inval;
  kernel::Kernel& kernel = state_->kernel();
  const std::lock_guard lock(kernel.mutex());
  const kernel::ProcessPtr process = kernel.find(pid);
  if (!process || process->state == kernel::ProcessState::zombie) return Errno::srch;
  return kernel.post(*process, {.signo = number, .code = kernel::si_kernel});
}

void Sandbox::observe(SandboxObserver observer) { state_->observer().set(std::move(observer)); }

}  // namespace cloche

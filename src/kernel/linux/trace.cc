// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/trace.h"

#include <fmt/format.h>

#include "kernel/kernel.h"

namespace cloche::kernel::lnx {
namespace {

void emit(const Task& task, std::string_view text) {
  const KernelOptions& options = task.kernel().options();
  if (!options.trace_syscalls || !options.trace_sink) return;
  options.trace_sink(fmt::format("[{}] {}", task.process().pid(), text));
}

std::string result_text(const SysResult& result) {
  if (result) return fmt::format("{}", *result);
  const ErrnoInfo& info = errno_info(result.error());
  return fmt::format("-1 {} ({})", info.name, info.message);
}

// A word that may be a number or an address: small ones in decimal, as a person reads them.
std::string word(std::uint32_t value) {
  const auto number = static_cast<std::int32_t>(value);
  return number >= -4096 && number < 65536 ? fmt::format("{}", number)
                                           : fmt::format("{:#x}", value);
}

}  // namespace

void trace_call(const Call& call, const Entry& entry, const SysResult& result) {
  std::string arguments;
  for (std::size_t i = 0; i < entry.arguments; ++i) {
    if (i != 0) arguments += ", ";
    arguments += word(call.args[i]);
  }
  emit(call.task, fmt::format("{}({}) = {}", entry.name, arguments, result_text(result)));
}

void trace_unknown(const Task& task, std::uint32_t number) {
  emit(task, fmt::format("syscall_{}() = {}", number, result_text(Errno::nosys)));
}

void trace_clone(const Task& task, std::uint32_t function, std::uint32_t argument,
                 const Result<Pid>& result) {
  const SysResult as_call = result ? SysResult(*result) : SysResult(result.error());
  emit(task, fmt::format("clone(fn={}, arg={:#x}) = {}", function, argument, result_text(as_call)));
}

}  // namespace cloche::kernel::lnx

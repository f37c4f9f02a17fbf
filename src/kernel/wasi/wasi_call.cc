// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/wasi_call.h"

#include <fmt/format.h>

#include "kernel/kernel.h"
#include "kernel/process/vectored_io.h"

namespace cloche::kernel::wasi {

Result<std::string> Call::path(std::uint32_t address, std::uint32_t length) const {
  if (length >= vfs::path_max) return Errno::nametoolong;
  if (length == 0) return Errno::noent;
  CLOCHE_ASSIGN(const std::span<std::byte> bytes, memory.slice(address, length));
  std::string path(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (path.find('\0') != std::string::npos) return Errno::inval;
  return path;
}

Result<Call::Buffers> Call::buffers(std::uint32_t address, std::uint32_t count) const {
  return read_iovecs(memory, address, count);
}

bool traces(const Task& task) noexcept { return task.kernel().options().trace_syscalls; }

void trace(const Task& task, std::string_view name, std::span<const std::uint64_t> arguments,
           const Result<void>& result) {
  const KernelOptions& options = task.kernel().options();
  if (!options.trace_sink) return;
  std::string line = fmt::format("[{}] {}(", task.process().pid(), name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i != 0) line += ", ";
    line +=
        arguments[i] < 65536 ? fmt::format("{}", arguments[i]) : fmt::format("{:#x}", arguments[i]);
  }
  line += result ? ") = 0"
                 : fmt::format(") = {} ({})", errno_info(result.error()).wasi,
                               errno_info(result.error()).name);
  options.trace_sink(line);
}

}  // namespace cloche::kernel::wasi

#include "kernel/wasi/wasi_call.h"

#include <fmt/format.h>

namespace cloche::kernel::wasi {
namespace {

constexpr std::uint32_t iov_max = 1024;
constexpr std::uint64_t transfer_max = 0x7fffffff;

}  // namespace

Result<std::string> Call::path(std::uint32_t address, std::uint32_t length) const {
  if (length >= vfs::path_max) return Errno::nametoolong;
  if (length == 0) return Errno::noent;
  CLOCHE_ASSIGN(const std::span<std::byte> bytes, memory.slice(address, length));
  std::string path(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (path.find('\0') != std::string::npos) return Errno::inval;
  return path;
}

Result<Call::Buffers> Call::buffers(std::uint32_t address, std::uint32_t count) const {
  CLOCHE_ASSIGN(const std::vector<IoVec> vectors,
                memory.read_array<IoVec>(address, count, iov_max));
  Buffers buffers;
  buffers.reserve(vectors.size());
  std::uint64_t total = 0;
  for (const IoVec& vector : vectors) {
    total += vector.length;
    if (total > transfer_max) return Errno::inval;
    CLOCHE_ASSIGN(const std::span<std::byte> buffer, memory.slice(vector.buf, vector.length));
    if (!buffer.empty()) buffers.push_back(buffer);
  }
  return buffers;
}

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

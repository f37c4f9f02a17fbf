// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/vectored_io.h"

#include <algorithm>
#include <limits>

#include "kernel/files/node_file.h"
#include "kernel/process/task.h"
#include "kernel/process/turns.h"

namespace cloche::kernel {
namespace {

constexpr std::size_t gather_bytes = std::size_t{1} << 20;

struct GuestIovec {
  std::uint32_t base, length;
};

std::size_t total_of(std::span<const GuestBuffer> buffers) {
  std::size_t total = 0;
  for (const GuestBuffer& buffer : buffers) total += buffer.size();
  return total;
}

Result<std::size_t> read_gathered(Task& task, File& file, std::span<const GuestBuffer> buffers)
    REQUIRES(kernel_lock) {
  std::vector<std::byte> bytes(std::min(total_of(buffers), gather_bytes));
  CLOCHE_ASSIGN(const std::size_t count, file.read(task, bytes));
  std::span<const std::byte> left = std::span(bytes).first(count);
  for (const GuestBuffer& buffer : buffers) {
    const std::size_t take = std::min(buffer.size(), left.size());
    std::copy_n(left.begin(), take, buffer.begin());
    left = left.subspan(take);
  }
  return std::size_t{count};
}

Result<std::size_t> write_gathered(Task& task, File& file, std::span<const GuestBuffer> buffers)
    REQUIRES(kernel_lock) {
  const std::size_t total = total_of(buffers);
  std::vector<std::byte> bytes;
  bytes.reserve(std::min(total, gather_bytes));
  Turns turns(task);
  std::size_t done = 0;
  std::size_t filled = 0;  // of all buffers, what was put into `bytes`
  for (std::span<const std::byte> buffer : buffers) {
    while (!buffer.empty()) {
      const std::size_t take = std::min(buffer.size(), gather_bytes - bytes.size());
      bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(take));
      buffer = buffer.subspan(take);
      filled += take;
      if (bytes.size() < gather_bytes && filled < total) continue;
      const Result<std::size_t> count = file.write(task, bytes);
      if (!count) return done == 0 ? count : Result<std::size_t>(done);
      done += *count;
      if (*count < bytes.size() || !turns.go_on()) return done;
      bytes.clear();
    }
  }
  return done;
}

Result<std::size_t> read_uncounted(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                   std::optional<std::uint64_t> offset) REQUIRES(kernel_lock) {
  const auto move = [&](GuestBuffer buffer, std::size_t done) REQUIRES(kernel_lock) {
    return offset ? file.pread(task, buffer, *offset + done) : file.read(task, buffer);
  };
  auto* const node_file = dynamic_cast<NodeFile*>(&file);
  if (node_file == nullptr && !offset && total_of(buffers) == 0) return std::size_t{0};
  if (buffers.empty()) return move({}, 0);
  if (offset || buffers.size() == 1) return each_in_turns(task, buffers, move);
  if (node_file != nullptr) return node_file->read_each(task, buffers);
  return read_gathered(task, file, buffers);
}

Result<std::size_t> write_uncounted(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                    std::optional<std::uint64_t> offset) REQUIRES(kernel_lock) {
  const auto move = [&](GuestBuffer buffer, std::size_t done) REQUIRES(kernel_lock) {
    return offset ? file.pwrite(task, buffer, *offset + done) : file.write(task, buffer);
  };
  if (total_of(buffers) == 0) return move({}, 0);
  auto* const node_file = dynamic_cast<NodeFile*>(&file);
  if (node_file != nullptr && offset && (file.flags() & o_append) != 0)
    return node_file->append_each(task, buffers);
  if (offset || buffers.size() == 1) return each_in_turns(task, buffers, move);
  if (node_file != nullptr) return node_file->write_each(task, buffers);
  return write_gathered(task, file, buffers);
}

}  // namespace

void count_read(Process& process, std::size_t bytes) {
  process.usage.read_bytes += bytes;
  ++process.usage.read_calls;
}

void count_written(Process& process, std::size_t bytes) {
  process.usage.written_bytes += bytes;
  ++process.usage.write_calls;
}

Result<std::vector<GuestBuffer>> read_iovecs(const wasm::GuestMemory& memory, std::uint32_t address,
                                             std::uint32_t count) {
  CLOCHE_ASSIGN(const auto list, memory.read_array<GuestIovec>(address, count, iov_max));
  std::vector<GuestBuffer> buffers;
  buffers.reserve(list.size());
  std::uint64_t total = 0;
  for (const GuestIovec& entry : list) {
    total += entry.length;
    if (total > std::numeric_limits<std::int32_t>::max()) return Errno::inval;
    CLOCHE_ASSIGN(const GuestBuffer buffer, memory.slice(entry.base, entry.length));
    if (!buffer.empty()) buffers.push_back(buffer);
  }
  return buffers;
}

Result<std::size_t> read_vector(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                std::optional<std::uint64_t> offset) {
  CLOCHE_ASSIGN(const std::size_t count, read_uncounted(task, file, buffers, offset));
  count_read(task.process(), count);
  return std::size_t{count};
}

Result<std::size_t> write_vector(Task& task, File& file, std::span<const GuestBuffer> buffers,
                                 std::optional<std::uint64_t> offset) {
  CLOCHE_ASSIGN(const std::size_t count, write_uncounted(task, file, buffers, offset));
  count_written(task.process(), count);
  return std::size_t{count};
}

Result<std::size_t> append_vector(Task& task, NodeFile& file,
                                  std::span<const GuestBuffer> buffers) {
  CLOCHE_ASSIGN(const std::size_t count, file.append_each(task, buffers));
  count_written(task.process(), count);
  return std::size_t{count};
}

}  // namespace cloche::kernel

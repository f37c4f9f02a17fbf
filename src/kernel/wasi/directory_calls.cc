// SPDX-License-Identifier: Apache-2.0
// fd_readdir, fd_prestat_get, fd_prestat_dir_name.
#include <algorithm>
#include <cstring>

#include "kernel/wasi/file_stat.h"
#include "kernel/wasi/preopens.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

// Appends what fits of `from`; false when that was not all.
bool append(std::span<std::byte> buffer, std::size_t& used, const void* from, std::size_t size) {
  const std::size_t count = std::min(size, buffer.size() - used);
  if (count != 0) std::memcpy(buffer.data() + used, from, count);
  used += count;
  return count == size;
}

// Fills the buffer to its last byte while there are entries: an entry that does not fit is cut, and
// a guest that finds the buffer full asks again from the last cookie it has whole. Less than the
// whole buffer is the end of the directory.
Result<void> fd_readdir(Call& call, std::uint32_t fd, std::uint32_t buf, std::uint32_t length,
                        std::uint64_t cookie, std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.file(fd));
  const auto directory = std::dynamic_pointer_cast<NodeFile>(file);
  if (!directory || !directory->is_directory()) return Errno::notdir;
  CLOCHE_ASSIGN(const std::span<std::byte> buffer, call.memory.slice(buf, length));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  std::size_t used = 0;
  CLOCHE_TRY(directory->read_directory(cookie, [&](const vfs::DirEntry& entry) {
    DirEnt header;
    header.next = entry.next;
    header.ino = entry.ino;
    header.name_length = static_cast<std::uint32_t>(entry.name.size());
    header.type = file_type(entry.type);
    return append(buffer, used, &header, sizeof(header)) &&
           append(buffer, used, entry.name.data(), entry.name.size());
  }));
  return call.memory.write(out, static_cast<std::uint32_t>(used));
}

Result<void> fd_prestat_get(Call& call, std::uint32_t fd, std::uint32_t out) REQUIRES(kernel_lock) {
  const auto number = static_cast<std::int32_t>(fd);
  Prestat result;
  if (const auto preopen = preopen_at(call.process, number)) {
    result.name_length = static_cast<std::uint32_t>(preopen->name().size());
  } else if (number >= 0 && number < last_preopen(call.process)) {
    result.tag = preopentype_none;
  } else {
    return Errno::badf;
  }
  return call.memory.write(out, result);
}

Result<void> fd_prestat_dir_name(Call& call, std::uint32_t fd, std::uint32_t path,
                                 std::uint32_t length) REQUIRES(kernel_lock) {
  CLOCHE_TRY(call.file(fd));
  const auto preopen = preopen_at(call.process, static_cast<std::int32_t>(fd));
  if (!preopen) return Errno::notdir;
  if (length < preopen->name().size()) return Errno::nametoolong;
  return call.memory.copy_out(path, preopen->name());
}

}  // namespace

Functions directory_calls() {
  return {function<"fd_readdir", fd_readdir>(), function<"fd_prestat_get", fd_prestat_get>(),
          function<"fd_prestat_dir_name", fd_prestat_dir_name>()};
}

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
// Reading directories.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "kernel/files/node_file.h"
#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {
namespace {

// struct linux_dirent64, packed: the name follows, with its NUL, and the whole is a multiple of 8.
constexpr std::size_t ino_at = 0, next_at = 8, length_at = 16, type_at = 18, name_at = 19,
                      alignment = 8;

constexpr std::size_t record_bytes(std::size_t name_bytes) {
  return (name_at + name_bytes + 1 + alignment - 1) / alignment * alignment;
}

void put_record(std::span<std::byte> record, const vfs::DirEntry& entry) {
  std::fill(record.begin(), record.end(), std::byte{0});
  const auto length = static_cast<std::uint16_t>(record.size());
  std::memcpy(record.data() + ino_at, &entry.ino, sizeof(std::uint64_t));
  std::memcpy(record.data() + next_at, &entry.next, sizeof(std::uint64_t));
  std::memcpy(record.data() + length_at, &length, sizeof(length));
  record[type_at] = static_cast<std::byte>(vfs::type_bits(entry.type) >> 12);
  std::memcpy(record.data() + name_at, entry.name.data(), entry.name.size());
}

SysResult getdents64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  auto* directory = dynamic_cast<NodeFile*>(file.get());
  if (directory == nullptr || !directory->is_directory()) return Errno::notdir;
  CLOCHE_ASSIGN(const auto buffer, call.memory.slice(call.u32(1), call.u32(2)));
  std::size_t used = 0;
  bool full = false;
  CLOCHE_TRY(directory->read_directory([&](const vfs::DirEntry& entry) {
    const std::size_t bytes = record_bytes(entry.name.size());
    if (bytes > buffer.size() - used) {
      full = true;
      return false;
    }
    put_record(buffer.subspan(used, bytes), entry);
    used += bytes;
    return true;
  }));
  if (full && used == 0) return Errno::inval;
  return static_cast<std::int64_t>(used);
}

constexpr auto directory_entries = std::to_array<Entry>({
    {61, "getdents64", 3, getdents64},
});

}  // namespace

std::span<const Entry> directory_calls() { return directory_entries; }

}  // namespace cloche::kernel::lnx

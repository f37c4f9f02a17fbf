// SPDX-License-Identifier: Apache-2.0
// The fixed part of /proc's tree: which names there are, and how their inodes are numbered.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernel/process/process.h"
#include "vfs/types.h"

namespace cloche::kernel::proc {

// What an inode number says. `index`: of the entry in its table, or a descriptor. A thread is what
// lies at /proc/<pid>/task/<pid>: the process again, in directories of its own.
enum class Kind : std::uint8_t {
  system = 1,
  process,
  thread,
  descriptor_link,
  descriptor_file,
  descriptor_info
};

struct Inode {
  Kind kind = Kind::system;
  Pid pid = 0;
  std::uint32_t index = 0;

  vfs::Ino number() const {
    return (static_cast<vfs::Ino>(kind) << 56) |
           (static_cast<vfs::Ino>(static_cast<std::uint32_t>(pid)) << 32) | index;
  }
  static Inode of(vfs::Ino number) {
    return {static_cast<Kind>(number >> 56), static_cast<Pid>((number >> 32) & 0xffffff),
            static_cast<std::uint32_t>(number)};
  }
};

// One name of a table. Entry 0 is the directory that the table describes; `parent` is the entry it
// lies in.
struct SystemEntry {
  std::string_view name;
  std::uint32_t parent = 0;
  vfs::FileType type = vfs::FileType::regular;
  std::string (*text)(const Kernel&) = nullptr;  // of a file
  std::string_view target = {};                  // of a link; "{}" stands for the acting process
};
struct ProcessEntry {
  std::string_view name;
  std::uint32_t parent = 0;
  vfs::FileType type = vfs::FileType::regular;
  std::uint32_t mode = 0444;
  std::string (*text)(const Process&) = nullptr;
};

std::span<const SystemEntry> system_entries();
std::span<const ProcessEntry> process_entries();

// Entries of the tables that mean more than their row says.
inline constexpr std::uint32_t system_boot_id = 1;
inline constexpr std::uint32_t process_fd = 1, process_fdinfo = 2, process_task = 3,
                               process_net = 4, process_cwd = 5, process_exe = 6, process_root = 7;

}  // namespace cloche::kernel::proc

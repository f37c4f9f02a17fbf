// SPDX-License-Identifier: Apache-2.0
// ProcFs: the file system at /proc: what processes and the sandbox look like from inside.
// Everything is made up when it is opened, from the state of the kernel; nothing of the host shows.
// Inodes are computed, so it holds no state of its own.
//
// /proc/<pid>/fd/N, exe, cwd and root are magic links: they lead to the open file itself, whatever
// its path says. A file without an inode (a pipe, a terminal of the host) stands in proc as a node
// of its own, behind which proc_open_file finds the File.
#pragma once

#include <array>

#include "kernel/files/computed_fs.h"
#include "kernel/files/file.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;

class ProcFs final : public ComputedFs {
 public:
  // Belongs to `kernel`, and is mounted in its namespace only.
  explicit ProcFs(Kernel& kernel);

  vfs::Ino root() const override;
  Result<vfs::Ino> lookup(vfs::Ino dir, std::string_view name) override REQUIRES(kernel_lock);
  Result<vfs::Ino> parent(vfs::Ino dir) override;
  Result<Location> locate(vfs::Ino ino) override;
  Result<vfs::Stat> stat(vfs::Ino ino) override REQUIRES(kernel_lock);
  Result<std::string> readlink(vfs::Ino ino) override REQUIRES(kernel_lock);
  Result<vfs::Node> magic_target(vfs::Ino ino) override REQUIRES(kernel_lock);
  vfs::StatFs statfs() override;
  std::string_view type_name() const override { return "proc"; }

  // The open file that an inode stands for; null for any other inode, and when it is closed by now.
  FilePtr open_file(vfs::Ino ino) const REQUIRES(kernel_lock);

 protected:
  Result<std::string> content(vfs::Ino ino) override REQUIRES(kernel_lock);
  Result<void> list(vfs::Ino dir, std::uint64_t cookie, const vfs::DirSink& sink) override
      REQUIRES(kernel_lock);

 private:
  // ESRCH's place is taken by ENOENT: to a walk a process that has ended is a name that is not
  // there.
  Result<ProcessPtr> process_of(vfs::Ino ino) const REQUIRES(kernel_lock);
  Result<FilePtr> file_of(vfs::Ino ino) const REQUIRES(kernel_lock);
  Result<void> list_descriptors(const Process& process, vfs::Ino dir, std::uint64_t cookie,
                                const vfs::DirSink& sink) REQUIRES(kernel_lock);
  Result<std::string> acting_link(std::string_view format) const REQUIRES(kernel_lock);

  Kernel& kernel_;
  std::array<std::uint8_t, 16> boot_id_{};
};

// The open file that a node of proc stands for; null for any other node.
FilePtr proc_open_file(const vfs::Node& node) REQUIRES(kernel_lock);

}  // namespace cloche::kernel

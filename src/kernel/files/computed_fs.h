// SPDX-License-Identifier: Apache-2.0
// ComputedFs: a file system whose inodes are made up from something else when they are looked at
// (proc, devpts). Nothing can be made, changed or written in it, and a Node of it keeps nothing
// alive: what it stood for may be gone (ENOENT).
#pragma once

#include <memory>
#include <string>

#include "kernel/files/byte_ring.h"
#include "kernel/time/kernel_lock.h"
#include "vfs/filesystem.h"

namespace cloche::kernel {

class ComputedFs : public vfs::FileSystem {
 public:
  Result<void> set_attr(vfs::Ino ino, const vfs::SetAttr& attr) override;
  Result<std::string> readlink(vfs::Ino ino) override REQUIRES(kernel_lock);
  // A directory is listed as it is at each readdir; a file's content is made here, once.
  Result<std::unique_ptr<vfs::NodeIo>> open(vfs::Ino ino, vfs::Access access) override
      REQUIRES(kernel_lock);
  vfs::FsRef fork_for(std::optional<std::uint64_t> quota_bytes) override;

 protected:
  // `budget`: what the texts of open files are charged to; ENOMEM when it is used up. Null for a
  // file system without regular files.
  explicit ComputedFs(std::shared_ptr<BufferBudget> budget) : budget_(std::move(budget)) {}

  // What a regular file reads as.
  virtual Result<std::string> content(vfs::Ino ino) REQUIRES(kernel_lock) = 0;
  // The entries of a directory behind "." and ".." whose cookie `next` is more than `cookie`, in
  // the order of their cookies, until the sink says stop. Cookies start at first_cookie.
  virtual Result<void> list(vfs::Ino dir, std::uint64_t cookie, const vfs::DirSink& sink)
      REQUIRES(kernel_lock) = 0;
  static constexpr std::uint64_t first_cookie = 3;

  void acquire(vfs::Ino) override {}
  void release(vfs::Ino) noexcept override {}

 private:
  class DirectoryIo;

  const std::shared_ptr<BufferBudget> budget_;
};

}  // namespace cloche::kernel

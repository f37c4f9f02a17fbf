// SPDX-License-Identifier: Apache-2.0
// NodeFile: the open file description of an inode: a regular file or a directory with its position,
// or an O_PATH reference. Kernel lock held for every call.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernel/files/file.h"
#include "kernel/files/file_locks.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"
#include "vfs/filesystem.h"

namespace cloche::kernel {

class Kernel;
class Process;

// What all files with an inode of a file system have in common: advisory locks may be held through
// them. They must not outlive their Kernel.
class InodeFile : public File {
 public:
  InodeFile(Kernel& kernel, vfs::Node node, std::uint32_t open_flags);
  ~InodeFile() override;

  const vfs::Node* node() const override REQUIRES(kernel_lock) { return &node_; }
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock) { return node_.stat(); }
  std::string description() const override REQUIRES(kernel_lock);
  LockKey lock_key() const;

 protected:
  Kernel& kernel() const noexcept { return kernel_; }

 private:
  Kernel& kernel_;
  vfs::Node node_;
};

class NodeFile : public InodeFile {
 public:
  // `io` is null for O_PATH. `flags` without those that only open looks at.
  NodeFile(Kernel& kernel, vfs::Node node, std::unique_ptr<vfs::NodeIo> io, vfs::FileType type,
           std::uint32_t flags);

  bool is_directory() const noexcept { return type_ == vfs::FileType::directory; }

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock);
  Result<std::size_t> pread(Task& task, std::span<std::byte> to, std::uint64_t offset) override
      REQUIRES(kernel_lock);
  Result<std::size_t> pwrite(Task& task, std::span<const std::byte> from,
                             std::uint64_t offset) override REQUIRES(kernel_lock);
  // At the end, whatever the position is; the position stays (RWF_APPEND, pwrite with O_APPEND).
  Result<std::size_t> append(Task& task, std::span<const std::byte> from) REQUIRES(kernel_lock);
  // The same for several buffers, as one transfer (readv, writev).
  using Buffers = std::span<const std::span<std::byte>>;
  Result<std::size_t> read_each(Task& task, Buffers to) REQUIRES(kernel_lock);
  Result<std::size_t> write_each(Task& task, Buffers from) REQUIRES(kernel_lock);
  Result<std::size_t> append_each(Task& task, Buffers from) REQUIRES(kernel_lock);
  // A directory takes any cookie that it gave, and 0.
  Result<void> wait_for_position(Task& task) override REQUIRES(kernel_lock);
  Result<std::uint64_t> seek(std::int64_t offset, std::uint32_t whence) override
      REQUIRES(kernel_lock);
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock);

  // Entries from the position on; the position follows what the sink takes. ENOTDIR.
  Result<void> read_directory(const vfs::DirSink& sink);
  // Entries from `cookie` on (0: the start), without a look at the position.
  Result<void> read_directory(std::uint64_t cookie, const vfs::DirSink& sink);

  // fallocate(2). `mode`: FALLOC_FL_*; EOPNOTSUPP for those that it does not have.
  Result<void> allocate(Task& task, std::uint32_t mode, std::uint64_t offset, std::uint64_t size)
      REQUIRES(kernel_lock);
  Result<void> truncate(Process& process, std::uint64_t size) REQUIRES(kernel_lock);
  Result<void> sync();

  // The file is one of memfd_create: how it is shown, and what F_ADD_SEALS forbids.
  void become_memfd(std::string name, std::uint32_t seals);
  bool is_memfd() const noexcept { return memfd_.has_value(); }
  std::uint32_t seals() const noexcept { return memfd_ ? memfd_->seals : 0; }
  // EPERM once sealed against it, or not open for writing.
  Result<void> add_seals(std::uint32_t seals) REQUIRES(kernel_lock);

  std::uint64_t position() const noexcept { return position_; }

 private:
  struct Memfd {
    std::string name;
    std::uint32_t seals = 0;
  };

  class Transfer;
  class Append;

  Result<std::size_t> move_here(Task& task, std::span<std::byte> to) REQUIRES(kernel_lock);
  Result<std::size_t> put_here(Task& task, std::span<const std::byte> from) REQUIRES(kernel_lock);
  Result<std::size_t> put_at_end(Task& task, std::span<const std::byte> from) REQUIRES(kernel_lock);
  Result<void> wait_to_append(Task& task) REQUIRES(kernel_lock);
  Result<void> check_seals(std::uint64_t end, std::uint64_t size_now) const;
  Result<std::uint64_t> size() const;

  std::unique_ptr<vfs::NodeIo> io_;
  vfs::FileType type_;
  std::uint64_t position_ = 0;
  bool is_moving_ = false;  // from there
  WaitQueue moved_;
  std::optional<Memfd> memfd_;
};

// F_SEAL_*.
inline constexpr std::uint32_t seal_seal = 1, seal_shrink = 2, seal_grow = 4, seal_write = 8,
                               seal_future_write = 16, seal_exec = 32;

// Whether a transfer may say where; anything else is a stream.
inline bool has_positions(const File& file) {
  return dynamic_cast<const NodeFile*>(&file) != nullptr;
}

}  // namespace cloche::kernel

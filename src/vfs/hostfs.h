// SPDX-License-Identifier: Apache-2.0
// HostFs: a folder of the host as a file system, read-only or writable, with no way out of it; or a
// single regular file, which is then the root and all that there is.
//
// Every access starts at the folder's descriptor and goes down by openat2(RESOLVE_BENEATH |
// NO_SYMLINKS | NO_MAGICLINKS), or, where the kernel lacks that, component by component with
// O_NOFOLLOW. The host never follows a symbolic link for us: links are read and resolved by our
// Namespace, as guest paths. Each inode is checked to be the one that was looked up (device and
// number), so a folder renamed or swapped by the host meanwhile is ESTALE, never another file.
// Devices, sockets and fifos of the host are listed but never opened, nor made (EPERM).
//
// Owner and group are shown as the guest's (1000); permission bits are the host's, set-id and
// sticky bits are neither shown nor set. chown to anyone else is EPERM. Descriptors: one for the
// folder, one for each open NodeIo (bounded, here and by DescriptorShare: ENFILE), one or two
// during a call. Paths below the
// folder are bounded by the host's 4095 bytes.
//
// A file that is mounted is the inode that was there: what the host writes into it is seen, what it
// puts in its place is not, and removed by the host it lives on here.
//
// An unlinked file lives on in its open NodeIos; a Node alone does not keep it (ENOENT). What the
// host does to the folder meanwhile is seen at once. Calls block on the host's disk while the
// kernel's lock is held.
#pragma once

#include <memory>
#include <string>

#include "vfs/filesystem.h"

namespace cloche::vfs {

enum class HostAccess : std::uint8_t { read_only, writable };

class HostFs final : public FileSystem {
 public:
  struct Options {
    HostAccess access = HostAccess::read_only;
    std::uint32_t uid = 1000, gid = 1000;
    std::uint32_t open_max = 256;          // NodeIos at once
    std::uint32_t remembered_max = 65536;  // inodes remembered without a reference
    bool use_openat2 = true;               // false: the component-wise way, for tests
  };

  // Opens the folder or the file. A symbolic link in its path is followed, but for one that leads
  // out of a folder that guests may write to (guest_folders()). Throws HostError when it is
  // missing, of another kind, or may not be used.
  HostFs(const std::string& host_path, const Options& options);

  Ino root() const override;
  Result<Ino> lookup(Ino dir, std::string_view name) override;
  Result<Ino> parent(Ino dir) override;
  Result<Location> locate(Ino ino) override;
  Result<Stat> stat(Ino ino) override;
  Result<void> set_attr(Ino ino, const SetAttr& attr) override;
  Result<Ino> create(Ino dir, std::string_view name, const NewNode& node) override;
  Result<Ino> symlink(Ino dir, std::string_view name, std::string_view target,
                      const NewNode& node) override;
  Result<void> link(Ino ino, Ino dir, std::string_view name) override;
  Result<void> unlink(Ino dir, std::string_view name) override;
  Result<void> rmdir(Ino dir, std::string_view name) override;
  Result<void> rename(Ino old_dir, std::string_view old_name, Ino new_dir,
                      std::string_view new_name, RenameMode mode) override;
  Result<std::string> readlink(Ino ino) override;
  Result<std::unique_ptr<NodeIo>> open(Ino ino, Access access) override;
  StatFs statfs() override;
  Result<void> sync() override;
  bool read_only() const override;
  std::string_view type_name() const override { return "hostfs"; }
  FsRef fork_for(std::optional<std::uint64_t> quota_bytes) override;
  void set_owner(const std::shared_ptr<Owner>& owner) override;

 protected:
  ~HostFs() override;
  void acquire(Ino ino) override;
  void release(Ino ino) noexcept override;

 private:
  struct Impl;
  class Io;
  explicit HostFs(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::vfs

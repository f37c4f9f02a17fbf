// SPDX-License-Identifier: Apache-2.0
// DevPts: the file system of /dev/pts: a device for each pseudo terminal that exists, made up when
// it is looked at, and `ptmx`. A slave belongs to the sandbox's user.
#pragma once

#include "kernel/files/computed_fs.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class TerminalTable;

class DevPts final : public ComputedFs {
 public:
  explicit DevPts(const TerminalTable& terminals);

  // The table is gone: from here on there are no terminals.
  void close() noexcept { terminals_ = nullptr; }
  vfs::Node slave(std::uint32_t number) { return vfs::Node(*this, first_slave_ino + number); }

  vfs::Ino root() const override { return root_ino; }
  Result<vfs::Ino> lookup(vfs::Ino dir, std::string_view name) override;
  Result<vfs::Ino> parent(vfs::Ino) override { return root_ino; }
  Result<Location> locate(vfs::Ino ino) override;
  Result<vfs::Stat> stat(vfs::Ino ino) override;
  // chmod, chown and the times of a slave are accepted and change nothing: grantpt and login
  // programs do that.
  Result<void> set_attr(vfs::Ino ino, const vfs::SetAttr& attr) override;
  vfs::StatFs statfs() override;
  std::string_view type_name() const override { return "devpts"; }

 protected:
  Result<std::string> content(vfs::Ino) override REQUIRES(kernel_lock) { return Errno::inval; }
  Result<void> list(vfs::Ino dir, std::uint64_t cookie, const vfs::DirSink& sink) override
      REQUIRES(kernel_lock);

 private:
  static constexpr vfs::Ino root_ino = 1, ptmx_ino = 2, first_slave_ino = 3;

  bool is_slave(vfs::Ino ino) const;

  const TerminalTable* terminals_;
  vfs::Timestamp made_;
};

}  // namespace cloche::kernel

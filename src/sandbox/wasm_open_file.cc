// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/time/kernel_handle.h"
#include "sandbox/file_info.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/wasm_files.h"
#include "vfs/checked_operations.h"

namespace cloche::sandbox {
namespace {

vfs::Timestamp timestamp_of(std::int64_t ns) {
  std::int64_t seconds = ns / ns_per_s;
  std::int64_t rest = ns % ns_per_s;
  if (rest < 0) {
    rest += ns_per_s;
    --seconds;
  }
  return {seconds, static_cast<std::uint32_t>(rest)};
}

// The node is touched, and let go of, under the kernel lock.
class WasmOpenFile final : public OpenFileBackend {
 public:
  WasmOpenFile(SandboxState& state, vfs::Credentials user, std::unique_ptr<vfs::NodeIo> io)
      : state_(state), user_(std::move(user)), io_(mutex(), std::move(io)) {}

  Result<std::string> read(std::uint64_t offset, std::size_t size_bytes) override
      EXCLUDES(kernel::kernel_lock);
  bool hold() override EXCLUDES(kernel::kernel_lock);
  Result<void> write(std::uint64_t offset, std::string_view data) override
      EXCLUDES(kernel::kernel_lock);
  Result<void> append(std::string_view data) override EXCLUDES(kernel::kernel_lock);
  Result<void> truncate(std::uint64_t size_bytes) override EXCLUDES(kernel::kernel_lock);
  Result<void> change_mode(std::uint32_t mode) override EXCLUDES(kernel::kernel_lock);
  Result<void> set_times(std::int64_t accessed_ns, std::int64_t modified_ns) override
      EXCLUDES(kernel::kernel_lock);
  Result<FileInfo> stat() override EXCLUDES(kernel::kernel_lock);

 private:
  kernel::KernelMutex& mutex() const { return state_.kernel().mutex(); }

  SandboxState& state_;
  vfs::Credentials user_;
  kernel::KernelHandle<std::unique_ptr<vfs::NodeIo>> io_;
  std::unique_ptr<vfs::HeldContent> held_;
};

bool WasmOpenFile::hold() {
  const kernel::KernelLock lock(mutex());
  held_ = io_->hold();
  return held_ != nullptr;
}

Result<std::string> WasmOpenFile::read(std::uint64_t offset, std::size_t size_bytes) {
  if (held_) {
    const std::uint64_t there = held_->size() - std::min(held_->size(), offset);
    std::string content(static_cast<std::size_t>(std::min<std::uint64_t>(there, size_bytes)), '\0');
    content.resize(held_->read(offset, std::as_writable_bytes(std::span(content))));
    return content;
  }
  const kernel::KernelLock lock(mutex());
  return vfs::read_range(*io_, offset, size_bytes);
}

Result<void> WasmOpenFile::write(std::uint64_t offset, std::string_view data) {
  const kernel::KernelLock lock(mutex());
  while (!data.empty()) {
    CLOCHE_ASSIGN(const std::size_t count, io_->write(offset, std::as_bytes(std::span(data))));
    offset += count;
    data.remove_prefix(count);
  }
  return {};
}

Result<void> WasmOpenFile::append(std::string_view data) {
  const kernel::KernelLock lock(mutex());
  while (!data.empty()) {
    CLOCHE_ASSIGN(const vfs::NodeIo::Appended done, io_->append(std::as_bytes(std::span(data))));
    data.remove_prefix(done.count);
  }
  return {};
}

Result<void> WasmOpenFile::truncate(std::uint64_t size_bytes) {
  const kernel::KernelLock lock(mutex());
  return io_->truncate(size_bytes);
}

Result<void> WasmOpenFile::change_mode(std::uint32_t mode) {
  const kernel::KernelLock lock(mutex());
  return vfs::chmod(io_->node(), mode, user_);
}

Result<void> WasmOpenFile::set_times(std::int64_t accessed_ns, std::int64_t modified_ns) {
  using Kind = vfs::TimeChange::Kind;
  const kernel::KernelLock lock(mutex());
  return vfs::set_times(io_->node(), {Kind::at, timestamp_of(accessed_ns)},
                        {Kind::at, timestamp_of(modified_ns)}, {}, user_);
}

Result<FileInfo> WasmOpenFile::stat() {
  const kernel::KernelLock lock(mutex());
  CLOCHE_ASSIGN(vfs::Stat stat, io_->stat());
  if (held_) stat.size = held_->size();
  return info_of({.name = {}, .stat = stat, .target = {}});
}

// /dev/null: clients of SFTP send there what they throw away.
class NullFile final : public OpenFileBackend {
 public:
  explicit NullFile(FileInfo info) : info_(std::move(info)) {}

  Result<std::string> read(std::uint64_t, std::size_t) override { return std::string(); }
  Result<void> write(std::uint64_t, std::string_view) override { return {}; }
  Result<void> append(std::string_view) override { return {}; }
  Result<void> truncate(std::uint64_t) override { return Errno::inval; }
  Result<void> change_mode(std::uint32_t) override { return Errno::perm; }
  Result<void> set_times(std::int64_t, std::int64_t) override { return Errno::perm; }
  Result<FileInfo> stat() override { return info_; }

 private:
  FileInfo info_;
};

Result<std::unique_ptr<OpenFileBackend>> open_null(vfs::PathOperations& files,
                                                   std::string_view path) {
  CLOCHE_ASSIGN(const vfs::FileInfo found, files.stat(path, vfs::Follow::yes));
  if (found.stat.type != vfs::FileType::character || found.stat.rdev != kernel::device::null)
    return Errno::nxio;
  return std::make_unique<NullFile>(info_of(found));
}

}  // namespace

Result<std::unique_ptr<OpenFileBackend>> WasmFiles::open(std::string_view path, OpenMode mode,
                                                         std::uint32_t permissions) {
  vfs::Access access = vfs::Access::none;
  if (has(mode, OpenMode::read)) access = access | vfs::Access::read;
  if (has(mode, OpenMode::write | OpenMode::truncate)) access = access | vfs::Access::write;
  const bool creates = has(mode, OpenMode::create);
  const auto new_mode = creates ? std::optional(permissions) : std::nullopt;
  const auto existing =
      creates && has(mode, OpenMode::exclusive) ? vfs::Existing::error : vfs::Existing::fine;
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) -> Result<std::unique_ptr<OpenFileBackend>> {
        Result<std::unique_ptr<vfs::NodeIo>> io = files.open_file(path, access, new_mode, existing);
        if (!io && io.error() == Errno::nxio) return open_null(files, path);
        if (!io) return io.error();
        if (has(mode, OpenMode::truncate)) CLOCHE_TRY((*io)->truncate(0));
        return std::make_unique<WasmOpenFile>(state_, files.user(), std::move(*io));
      });
}

Result<void> WasmFiles::set_times(std::string_view path, std::int64_t accessed_ns,
                                  std::int64_t modified_ns) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.set_times(path, timestamp_of(accessed_ns), timestamp_of(modified_ns));
  });
}

Result<void> WasmFiles::set_link_times(std::string_view path, std::int64_t accessed_ns,
                                       std::int64_t modified_ns) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.set_times(path, timestamp_of(accessed_ns), timestamp_of(modified_ns),
                           vfs::Follow::no);
  });
}

}  // namespace cloche::sandbox

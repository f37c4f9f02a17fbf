// SPDX-License-Identifier: Apache-2.0
// Files of a native sandbox: through the file server of its box.
#pragma once

#include "base/mutex.h"
#include "native/host/box.h"
#include "sandbox/backend.h"

namespace cloche::sandbox {

class NativeFiles final : public FileBackend {
 public:
  // Relative paths start in `home`.
  NativeFiles(native::Box& box, std::string home) : box_(box), home_(std::move(home)) {}

  Result<std::string> read(std::string_view path, std::uint64_t limit_bytes) override;
  Result<std::string> read_range(std::string_view path, std::uint64_t offset,
                                 std::size_t size_bytes) override;
  Result<void> write(std::string_view path, std::string_view content, std::uint32_t mode,
                     IfThere there) override;
  Result<void> append(std::string_view path, std::string_view content) override;
  Result<std::unique_ptr<OpenFileBackend>> open(std::string_view path, OpenMode mode,
                                                std::uint32_t permissions) override;
  Result<std::vector<FileInfo>> list(std::string_view path) override;
  Result<FileInfo> stat(std::string_view path) override;
  Result<FileInfo> link_stat(std::string_view path) override;
  Result<void> make_directory(std::string_view path) override;
  Result<void> make_directories(std::string_view path) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_all(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to, IfThere there) override;
  Result<void> change_mode(std::string_view path, std::uint32_t mode) override;
  Result<void> change_owner(std::string_view path, std::uint32_t user,
                            std::uint32_t group) override;
  Result<void> set_times(std::string_view path, std::int64_t accessed_ns,
                         std::int64_t modified_ns) override;
  Result<void> set_link_times(std::string_view path, std::int64_t accessed_ns,
                              std::int64_t modified_ns) override;
  Result<void> make_symlink(std::string_view target, std::string_view path) override;
  Result<void> make_link(std::string_view existing, std::string_view path) override;
  Result<std::string> resolve(std::string_view path) override;
  Result<std::map<std::string, std::string>> attributes(std::string_view path) override;
  Result<void> set_attribute(std::string_view path, std::string_view name,
                             std::string_view value) override;
  Result<void> remove_attribute(std::string_view path, std::string_view name) override;
  Result<std::vector<std::string>> glob(std::string_view pattern) override EXCLUDES(glob_mutex_);
  Result<std::unique_ptr<WatchBackend>> watch(std::string_view path, WatchDepth depth,
                                              std::function<void()> changed) override;

 private:
  std::string absolute(std::string_view path) const;
  // The path, and the folders that lead to it are there.
  Result<std::string> with_folders(std::string_view path);

  native::Box& box_;
  const std::string home_;
  Mutex glob_mutex_;
};

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "cloche/files.h"

#include "sandbox/backend.h"
#include "sandbox/departure.h"

namespace cloche {

Result<std::string> Files::read(std::string_view path, std::uint64_t limit_bytes) const {
  return files_.read(path, limit_bytes);
}

Result<std::string> Files::read_range(std::string_view path, std::uint64_t offset,
                                      std::size_t size_bytes) const {
  return files_.read_range(path, offset, size_bytes);
}

Result<void> Files::write(std::string_view path, std::string_view content, std::uint32_t mode,
                          IfThere there) {
  return departure_->settled(files_.write(path, content, mode, there));
}

Result<void> Files::append(std::string_view path, std::string_view content) {
  return departure_->settled(files_.append(path, content));
}

Result<std::vector<FileInfo>> Files::list(std::string_view path) const { return files_.list(path); }

Result<FileInfo> Files::stat(std::string_view path) const { return files_.stat(path); }

Result<FileInfo> Files::link_stat(std::string_view path) const { return files_.link_stat(path); }

Result<void> Files::make_directory(std::string_view path) {
  return departure_->settled(files_.make_directory(path));
}

Result<void> Files::make_directories(std::string_view path) {
  return departure_->settled(files_.make_directories(path));
}

Result<void> Files::remove(std::string_view path) {
  return departure_->settled(files_.remove(path));
}

Result<void> Files::remove_all(std::string_view path) {
  return departure_->settled(files_.remove_all(path));
}

Result<void> Files::rename(std::string_view from, std::string_view to, IfThere there) {
  return departure_->settled(files_.rename(from, to, there));
}

Result<void> Files::change_mode(std::string_view path, std::uint32_t mode) {
  return departure_->settled(files_.change_mode(path, mode));
}

Result<void> Files::change_owner(std::string_view path, std::uint32_t user, std::uint32_t group) {
  return departure_->settled(files_.change_owner(path, user, group));
}

Result<void> Files::set_times(std::string_view path, std::int64_t accessed_ns,
                              std::int64_t modified_ns) {
  return departure_->settled(files_.set_times(path, accessed_ns, modified_ns));
}

Result<void> Files::make_symlink(std::string_view target, std::string_view path) {
  return departure_->settled(files_.make_symlink(target, path));
}

Result<void> Files::set_link_times(std::string_view path, std::int64_t accessed_ns,
                                   std::int64_t modified_ns) {
  return departure_->settled(files_.set_link_times(path, accessed_ns, modified_ns));
}

Result<void> Files::make_link(std::string_view existing, std::string_view path) {
  return departure_->settled(files_.make_link(existing, path));
}

Result<std::string> Files::resolve(std::string_view path) const { return files_.resolve(path); }

Result<std::map<std::string, std::string>> Files::attributes(std::string_view path) const {
  return files_.attributes(path);
}

Result<void> Files::set_attribute(std::string_view path, std::string_view name,
                                  std::string_view value) {
  return departure_->settled(files_.set_attribute(path, name, value));
}

Result<void> Files::remove_attribute(std::string_view path, std::string_view name) {
  return departure_->settled(files_.remove_attribute(path, name));
}

Result<std::vector<std::string>> Files::glob(std::string_view pattern) const {
  return files_.glob(pattern);
}

}  // namespace cloche

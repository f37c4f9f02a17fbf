// SPDX-License-Identifier: Apache-2.0
#include "cloche/open_file.h"

#include "sandbox/backend.h"

namespace cloche {

OpenFile::OpenFile(std::unique_ptr<sandbox::OpenFileBackend> file) : file_(std::move(file)) {}
OpenFile::~OpenFile() = default;

Result<std::string> OpenFile::read(std::uint64_t offset, std::size_t size_bytes) {
  return file_->read(offset, size_bytes);
}

Result<void> OpenFile::write(std::uint64_t offset, std::string_view data) {
  return file_->write(offset, data);
}

Result<void> OpenFile::append(std::string_view data) { return file_->append(data); }

Result<void> OpenFile::truncate(std::uint64_t size_bytes) { return file_->truncate(size_bytes); }

Result<void> OpenFile::change_mode(std::uint32_t mode) { return file_->change_mode(mode); }

Result<void> OpenFile::set_times(std::int64_t accessed_ns, std::int64_t modified_ns) {
  return file_->set_times(accessed_ns, modified_ns);
}

Result<FileInfo> OpenFile::stat() { return file_->stat(); }

}  // namespace cloche

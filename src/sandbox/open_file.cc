// SPDX-License-Identifier: Apache-2.0
#include "cloche/open_file.h"

#include <utility>

#include "base/result.h"
#include "sandbox/backend.h"
#include "sandbox/departure.h"

namespace cloche {

struct OpenFile::State {
  std::unique_ptr<sandbox::OpenFileBackend> file;
  std::shared_ptr<sandbox::Departure> departure;
};

OpenFile::OpenFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenFile::~OpenFile() = default;

Result<std::string> OpenFile::read(std::uint64_t offset, std::size_t size_bytes) {
  return state_->file->read(offset, size_bytes);
}

bool OpenFile::hold() { return state_->file->hold(); }

Result<void> OpenFile::write(std::uint64_t offset, std::string_view data) {
  return state_->departure->settled(state_->file->write(offset, data));
}

Result<void> OpenFile::append(std::string_view data) {
  return state_->departure->settled(state_->file->append(data));
}

Result<void> OpenFile::truncate(std::uint64_t size_bytes) {
  return state_->departure->settled(state_->file->truncate(size_bytes));
}

Result<void> OpenFile::change_mode(std::uint32_t mode) {
  return state_->departure->settled(state_->file->change_mode(mode));
}

Result<void> OpenFile::set_times(std::int64_t accessed_ns, std::int64_t modified_ns) {
  return state_->departure->settled(state_->file->set_times(accessed_ns, modified_ns));
}

Result<FileInfo> OpenFile::stat() { return state_->file->stat(); }

Result<std::unique_ptr<OpenFile>> Files::open(std::string_view path, OpenMode mode,
                                              std::uint32_t permissions) {
  CLOCHE_ASSIGN(auto file, files_.open(path, mode, permissions));
  // It may have made the file, or emptied it.
  if (has(mode, OpenMode::create | OpenMode::truncate) && !departure_->counts())
    return Errno::canceled;
  return std::unique_ptr<OpenFile>(
      new OpenFile(std::make_unique<OpenFile::State>(std::move(file), departure_)));
}

}  // namespace cloche

// SPDX-License-Identifier: Apache-2.0
#include "base/durable_file.h"

#include <utility>

namespace cloche {

DurableFile::DurableFile(HostFiles& files, NewFile file) : files_(&files), file_(std::move(file)) {}

Result<DurableFile> DurableFile::create(HostFiles& files, std::string path) {
  constexpr unsigned mode = 0600;
  CLOCHE_ASSIGN(NewFile file, NewFile::create(files, std::move(path), mode));
  return DurableFile(files, std::move(file));
}

Result<void> DurableFile::write(std::span<const std::byte> bytes) {
  return files_->write_all(file_.fd(), bytes);
}

// A sync that has failed is never tried again on the same file: what it lost is not told twice.
Result<void> DurableFile::finish() { return files_->sync(file_.fd()); }

Result<void> DurableFile::publish() {
  CLOCHE_TRY(file_.publish());
  return files_->sync_folder(HostFiles::folder_of(file_.path()));
}

}  // namespace cloche

// SPDX-License-Identifier: Apache-2.0
#include "cloche/folder_watch.h"

#include <utility>

#include "base/result.h"
#include "cloche/files.h"
#include "sandbox/backend.h"

namespace cloche {

FolderWatch::FolderWatch(std::unique_ptr<sandbox::WatchBackend> watch) : watch_(std::move(watch)) {}
FolderWatch::~FolderWatch() = default;

Result<std::vector<FileChange>> FolderWatch::take() { return watch_->take(); }

bool FolderWatch::is_over() const { return watch_->is_over(); }

Result<std::unique_ptr<FolderWatch>> Files::watch(std::string_view path, WatchDepth depth,
                                                  std::function<void()> changed) const {
  CLOCHE_ASSIGN(auto watch, files_.watch(path, depth, std::move(changed)));
  return std::unique_ptr<FolderWatch>(new FolderWatch(std::move(watch)));
}

}  // namespace cloche

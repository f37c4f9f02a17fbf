// SPDX-License-Identifier: Apache-2.0
// FolderClaim: a folder of states belongs to one server at a time.
//
// Its file `lock` is locked while the server lives, and names the server that took the folder last,
// with a number that grows by one each time. Where locks do not hold (some network file systems),
// or the folder has been given to another server, the name tells: whoever finds another one than
// his own in the file writes nothing any more. Thread-safe.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "base/host_files.h"

namespace cloche::session {

class FolderClaim {
 public:
  // Waits a moment for a server that is about to end. Throws HostError with one sentence where
  // another one has the folder, or it cannot be written.
  FolderClaim(const std::filesystem::path& folder, HostFiles& files);

  // ESTALE once another server has taken the folder, and from then on; another error where that
  // cannot be told.
  Result<void> check();
  bool is_lost() const noexcept { return lost_; }

 private:
  Result<std::string> read_name() const;

  const std::string path_;
  HostFiles& files_;
  UniqueFd lock_;
  std::string name_;  // what is in the file
  std::atomic<bool> lost_ = false;
};

}  // namespace cloche::session

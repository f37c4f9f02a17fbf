// SPDX-License-Identifier: Apache-2.0
// FolderClaim: a folder of states belongs to one server at a time.
//
// Its file `lock` is locked while the server lives, and names the server that took the folder last,
// with a number that grows by one each time. Where locks do not hold (some network file systems),
// or the folder has been given to another server, the name tells: whoever finds another one than
// his own in the file writes nothing any more. Of a server that is a cell it says which one: that
// may take the folder again as long as nobody else has. Thread-safe.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "base/host_files.h"
#include "session/cell_key.h"

namespace cloche::session {

class FolderClaim {
 public:
  // Waits a moment for a server that is about to end. Throws HostError with one sentence where
  // another one has the folder, or it cannot be written. `cell`: 0 for none.
  FolderClaim(const std::filesystem::path& folder, HostFiles& files, CellKey cell = 0);

  // The cell that took the folder last; 0: it was none, or that cannot be told.
  static CellKey last_cell_of(const std::filesystem::path& folder, HostFiles& files);

  // ESTALE once another server has taken the folder, and from then on; another error where that
  // cannot be told.
  Result<void> check();
  bool is_lost() const noexcept { return lost_; }

 private:
  const std::string path_;
  HostFiles& files_;
  UniqueFd lock_;
  std::string name_;  // what is in the file
  std::atomic<bool> lost_ = false;
};

}  // namespace cloche::session

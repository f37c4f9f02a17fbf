// SPDX-License-Identifier: Apache-2.0
// ProgramFolders: folders of the host with guest programs, NAME.wasm the command NAME, for
// sandboxes that ask for one. What is in a folder when a sandbox is made is what its sandbox has,
// whatever becomes of the files. Machine code is kept as that of the system's own programs; but
// programs of a folder that guests may write to (guest_folders()) are compiled as those that a
// guest brings, and no link of a guest leads out of it. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kernel/process/program.h"
#include "vfs/memfs.h"

namespace cloche::sandbox {

class ProgramFolders {
 public:
  explicit ProgramFolders(kernel::ProgramStore& programs) : programs_(programs) {}

  // Makes the folder's programs commands that PATH finds first. Throws HostError when it cannot be
  // read, and for more than 10,000 programs or 1 GiB, of guests 256 MiB. Kernel lock held, or no
  // kernel yet.
  void install(vfs::MemFs& files, const std::filesystem::path& folder);

 private:
  struct Tree {
    std::string state;  // names and identities: another state is read again
    std::vector<std::string> names;
    vfs::Frozen files;
  };
  Tree tree_of(const std::filesystem::path& folder);

  kernel::ProgramStore& programs_;
  Mutex mutex_;
  std::map<std::filesystem::path, Tree> trees_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox

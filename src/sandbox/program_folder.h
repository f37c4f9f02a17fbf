// SPDX-License-Identifier: Apache-2.0
// ProgramFolders: folders of the host with guest programs, NAME.wasm the command NAME, for
// sandboxes that ask for one. Nothing is read before a program is first executed; its machine code
// is kept as that of the system's own programs. Thread-safe.
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
  // read. Kernel lock held, or no kernel yet.
  void install(vfs::MemFs& files, const std::filesystem::path& folder);

 private:
  struct Tree {
    std::string state;  // names, sizes and times: another state is read again
    std::vector<std::string> names;
    vfs::Frozen files;
  };
  Tree tree_of(const std::filesystem::path& folder);

  kernel::ProgramStore& programs_;
  Mutex mutex_;
  std::map<std::filesystem::path, Tree> trees_ GUARDED_BY(mutex_);
};

}  // namespace cloche::sandbox

// SPDX-License-Identifier: Apache-2.0
// DurableFile: a file that is there whole, or as it was before. It is written without a name,
// synced and named, and its folder is synced: what commit() has said survives a crash of the
// process and of the host.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/new_file.h"
#include "base/result.h"

namespace cloche {

class DurableFile {
 public:
  static Result<DurableFile> create(HostFiles& files, std::string path);

  Result<void> write(std::span<const std::byte> bytes);
  // `before_naming` is asked once everything is on the disk, and may refuse. When the folder cannot
  // be synced the new file is there all the same, but may be the old one again after a crash.
  template <typename Check>
  Result<void> commit(const Check& before_naming) {
    CLOCHE_TRY(finish());
    CLOCHE_TRY(before_naming());
    return publish();
  }
  Result<void> commit() {
    return commit([] { return Result<void>(); });
  }

 private:
  DurableFile(HostFiles& files, NewFile file);
  Result<void> finish();
  Result<void> publish();

  HostFiles* files_;
  NewFile file_;
};

}  // namespace cloche

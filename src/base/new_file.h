// SPDX-License-Identifier: Apache-2.0
// NewFile: a file that gets its name when it is complete. Until then it has none (O_TMPFILE), so
// that nothing is left of it when this process ends before, by whatever. Where the file system, or
// a host without /proc, has no files without a name, it has one beside its own, `FILE.DIGITS.part`:
// that goes with this object, and what a killed process has left goes when the file is next made.
#pragma once

#include <memory>
#include <string>

#include "base/host_files.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche {

class NewFile {
 public:
  // Empty, to be read and written, in the folder of `path`, which gets it.
  static Result<NewFile> create(HostFiles& files, std::string path, unsigned mode);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return names_->path; }
  // It takes the place of what is there; when that fails, that is as it was. Asked once.
  Result<void> publish();

 private:
  struct Names {
    std::string path;
    std::string part;  // its name until it is published; empty: none
  };
  NewFile(HostFiles& files, Names names, UniqueFd fd);
  static Result<NewFile> create_named(HostFiles& files, std::string path, unsigned mode);

  HostFiles* files_;
  std::unique_ptr<Names> names_;  // null: moved away
  UniqueFd fd_;
};

}  // namespace cloche

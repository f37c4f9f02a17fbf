// SPDX-License-Identifier: Apache-2.0
// FileWatch: whether a small file that an operator edits has become another one.
//
// It is asked now and then, and looks at the file's identity, size and time; links are followed, so
// that a folder which is swapped as a whole counts too. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace cloche {

class FileWatch {
 public:
  // What the file is now has been seen. An empty path is watched for nothing.
  explicit FileWatch(std::string path);

  // True once for each change, when the file has stayed the same from one call to the next: what is
  // still being written is not to be read. A file that goes, or comes, has changed.
  bool has_changed();

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;  // 0: no file
    off_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;

  const std::string path_;
  Stamp known_;
  Stamp last_;  // at the last call
};

}  // namespace cloche

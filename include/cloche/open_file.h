// SPDX-License-Identifier: Apache-2.0
// OpenFile: a file of a sandbox that the host has open, to read and write parts of it. It stays the
// same file when it is renamed or removed meanwhile.
//
// Thread-safe. Lifetime: it must be gone before its Sandbox. Errors are the Errnos of the system
// calls of the same meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cloche/files.h"

namespace cloche {

// As for open(2): OpenMode::read | OpenMode::write.
enum class OpenMode : std::uint8_t {
  none = 0,
  read = 1,
  write = 2,
  create = 4,
  exclusive = 8,  // with create: EEXIST when it is there
  truncate = 16,  // needs the right to write, and nothing else
};
constexpr OpenMode operator|(OpenMode a, OpenMode b) noexcept {
  return static_cast<OpenMode>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr OpenMode& operator|=(OpenMode& a, OpenMode b) noexcept { return a = a | b; }
// Whether `mode` has any of these.
constexpr bool has(OpenMode mode, OpenMode flags) noexcept {
  return (static_cast<std::uint8_t>(mode) & static_cast<std::uint8_t>(flags)) != 0;
}

class OpenFile {
 public:
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Up to `size_bytes` from `offset`; fewer where the file ends.
  Result<std::string> read(std::uint64_t offset, std::size_t size_bytes);
  // From now on `read`, and the size that `stat` tells, are of the content that the file has now,
  // whatever is written to it; nothing is copied. False, and as before, where there is no such
  // content to be had: in folders of the host, in the linux engine, and while as much is held as
  // the sandbox may have of files.
  bool hold();
  // All of it, or an error; on ENOSPC what fitted is there.
  Result<void> write(std::uint64_t offset, std::string_view data);
  Result<void> append(std::string_view data);
  Result<void> truncate(std::uint64_t size_bytes);
  Result<void> change_mode(std::uint32_t mode);
  Result<void> set_times(std::int64_t accessed_ns, std::int64_t modified_ns);
  Result<FileInfo> stat();

 private:
  friend class Files;
  struct State;
  explicit OpenFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cloche

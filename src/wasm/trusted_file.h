// SPDX-License-Identifier: Apache-2.0
// TrustedFile: a file of ours that is mapped and used as it is (machine code, memory images), and
// how we know that it is whole.
//
// Beside FILE lies FILE.record: what FILE is (a tag of the caller's), its size and a fast hash of
// its content, and the identity that the file system gave it when it was written (device, inode,
// size, times). `open_trusted` accepts FILE when its identity is still that one, which costs two
// stats; when it is not (the folder was copied or restored), when the content still has the hash,
// and then it renews the record. Anything else is "not there". This finds damage and leftovers of a
// crash; it is no defence against the user's own account, which can replace this program as well.
//
// Files have mode 0600 and get their name when they are complete (NewFile): a reader sees all of a
// file or none.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/host_files.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::wasm {

using FileTag = std::array<std::uint8_t, 32>;

// What tells one state of a file from another without reading it.
struct FileIdentity {
  std::uint64_t device, inode, size;
  std::int64_t modified_ns, changed_ns;

  explicit FileIdentity(const struct stat& status) noexcept;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct TrustedFile {
  UniqueFd fd;  // read only
  std::uint64_t size;
  std::uint64_t note;  // a number that the writer kept with it
};

// nullopt: there is no such file, or it is not whole, or its tag is another one.
std::optional<TrustedFile> open_trusted(const std::filesystem::path& path, const FileTag& tag);

// Writes the content, by `files`, to a descriptor at offset 0.
using ContentWriter = std::function<Result<void>(HostFiles& files, int fd)>;

// Writes the file and its record. Throws HostError; then FILE is as it was, or not there.
void save_trusted(const std::filesystem::path& path, const FileTag& tag, std::uint64_t note,
                  const ContentWriter& write, HostFiles& files = host_files());

// A small file in one piece.
Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                          HostFiles& files = host_files());

// All bytes of a file that has at most `limit`; nullopt when it cannot be read or is longer.
std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace cloche::wasm

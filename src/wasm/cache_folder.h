// SPDX-License-Identifier: Apache-2.0
// The folder of compiled code. For ModuleStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/unique_fd.h"
#include "wasm/module.h"

namespace cloche::wasm {

// Creates the folder (and those above it) for this user alone, or checks that it is so. Throws
// HostError.
void prepare_cache_folder(const std::filesystem::path& folder);

// Of code: `programs`, as each look at a folder takes time for all that it has.
struct CacheLimits {
  std::uint64_t bytes = 0;
  std::size_t programs = 0;
};

// Removes the code that was not used for the longest time until what is left is within the limits;
// `kept` stays. Code that a process has mapped works on. Folders in it are apart.
void prune_cache_folder(const std::filesystem::path& folder, CacheLimits limits,
                        const std::filesystem::path& kept) noexcept;

// Remembers for prune_cache_folder that this code was used now.
void note_use(const std::filesystem::path& code) noexcept;

// One process at a time holds the lock of a file. Waits, until `give_up` says true. False then, and
// when the folder cannot be written; then go on without. The lock's file goes with it: who waited
// for it looks again whether the work is done, and so does who comes later.
class CachedFileLock {
 public:
  explicit CachedFileLock(const std::filesystem::path& path,
                          const std::function<bool()>& give_up = {});
  ~CachedFileLock();
  CachedFileLock(const CachedFileLock&) = delete;
  CachedFileLock& operator=(const CachedFileLock&) = delete;
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  std::filesystem::path name_;
  UniqueFd fd_;
};

// Which program was in a file of the host when it was last read: so that an unchanged file need not
// be read to know its digest.
struct KnownProgram {
  Digest digest;
  std::uint64_t wasm_bytes;
};
struct FileIdentity;
std::optional<KnownProgram> find_known_program(const std::filesystem::path& folder,
                                               const FileIdentity& file);
void remember_program(const std::filesystem::path& folder, const FileIdentity& file,
                      const KnownProgram& program) noexcept;

}  // namespace cloche::wasm

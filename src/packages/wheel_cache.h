// SPDX-License-Identifier: Apache-2.0
// WheelCache: files that sandboxes have fetched from package indexes, kept by the host so that the
// next one need not fetch them.
//
// A file is known by whom it came from (an origin that the network layer vouches for), by its
// address there, and by the SHA-256 that the index named for it. All three are asked for: a sandbox
// finds what it could fetch itself, and nothing else, and one that gives a file here can offer it
// under no other file's name. A file is kept once its bytes have that SHA-256; who reads one checks
// it again, since disks err.
//
// On disk: a folder of this user's alone, a file each, written under another name and renamed.
// Together they have at most `limit_bytes`, and are as many as would have that with 64 KiB each:
// small ones take of a disk what their sizes do not say. Those that were not used for the longest
// time go.
// Processes of the host share the folder. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/host_files.h"
#include "base/sha256.h"
#include "base/unique_fd.h"

namespace cloche::packages {

struct WheelName {
  std::string origin;
  std::string address;
  Sha256Digest sha256;
};

class WheelCache {
 public:
  // One that is being written. What is not complete at its end is gone.
  class Deposit {
   public:
    ~Deposit();
    Deposit(const Deposit&) = delete;
    Deposit& operator=(const Deposit&) = delete;

    // The next bytes. False where they are more than was said, where the disk takes none, or where
    // the last of them shows that the file is another one: nothing is kept then.
    bool write(std::span<const std::byte> bytes);

   private:
    friend class WheelCache;
    struct State;
    explicit Deposit(std::unique_ptr<State> state);
    bool finish();
    std::unique_ptr<State> state_;  // null: it has ended
  };

  // `folder` is there, and private (wasm::prepare_cache_folder). `files` outlives it.
  WheelCache(std::filesystem::path folder, std::uint64_t limit_bytes,
             HostFiles& files = host_files());

  struct Found {
    UniqueFd fd;  // read only
    std::uint64_t size;
  };
  // nullopt: it is not there.
  std::optional<Found> find(const WheelName& name) const;

  // Null: a file of `size` bytes is not kept (it is too large, or too many are being written).
  std::unique_ptr<Deposit> begin(const WheelName& name, std::uint64_t size);

  // What one file, and what one sandbox, may take of it.
  std::uint64_t share_bytes() const noexcept { return limit_bytes_ / 4; }
  std::uint64_t share_files() const noexcept { return most_files_ / 4; }

 private:
  std::filesystem::path path_of(const WheelName& name) const;
  // Removes leftovers of a crash, and the oldest files beyond the limits.
  void prune() const noexcept;

  const std::filesystem::path folder_;
  const std::uint64_t limit_bytes_;
  const std::uint64_t most_files_;
  HostFiles& files_;
  std::atomic<std::uint64_t> being_written_ = 0;
};

}  // namespace cloche::packages

// SPDX-License-Identifier: Apache-2.0
// ImageCache: the folder in which memory images of interpreters are kept, for the next process of
// this machine. All of them can be made anew, so the folder has a bound, and what was used longest
// ago goes first. Who has mapped a file that goes keeps it.
//
// ImageClaim: the right to make a memory image, of one process at a time. It is a locked file,
// which stays where the process ends before the image is there: the next one knows then that time
// was too short.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "wasm/memory_image.h"

namespace cloche::python {

class ImageClaim {
 public:
  // For a memory image that is kept nowhere.
  ImageClaim() = default;
  ImageClaim(std::filesystem::path file, UniqueFd lock, bool second_try) noexcept
      : file_(std::move(file)), lock_(std::move(lock)), is_second_try_(second_try) {}

  // A process that had it ended too early.
  bool is_second_try() const noexcept { return is_second_try_; }
  // The image is there, or cannot be made.
  void settle() noexcept;

 private:
  std::filesystem::path file_;
  UniqueFd lock_;
  bool is_second_try_ = false;
};

class ImageCache {
 public:
  // An empty folder: nothing is kept.
  ImageCache(std::filesystem::path folder, std::string library_id)
      : folder_(std::move(folder)), library_id_(std::move(library_id)) {}

  // `key` says what else than the common modules is in it. Null where there is none.
  std::shared_ptr<const wasm::MemoryImage> load(const wasm::Module& module,
                                                std::string_view key) const;
  // Keeps it, and makes room. Throws HostError. Not without a folder.
  void save(const wasm::Module& module, std::string_view key, const wasm::MemoryImage& image) const;
  bool keeps() const noexcept { return !folder_.empty(); }

  // Nothing while another process has it.
  std::optional<ImageClaim> claim(const wasm::Module& module, std::string_view key) const;

 private:
  std::filesystem::path file(const wasm::Module& module, std::string_view key) const;

  const std::filesystem::path folder_;
  const std::string library_id_;
};

// An image that was loaded: it goes later than those that were not.
void mark_used(const std::filesystem::path& image) noexcept;
// Removes images from the folder, the longest unused first, until those that are named
// `prefix`*.image take `bytes_max` at most; never `kept`. What fails is tried again the next time.
void prune_images(const std::filesystem::path& folder, std::string_view prefix,
                  std::uint64_t bytes_max, const std::filesystem::path& kept) noexcept;

}  // namespace cloche::python

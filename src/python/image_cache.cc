// SPDX-License-Identifier: Apache-2.0
#include "python/image_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "base/folder_names.h"
#include "wasm/module.h"

namespace cloche::python {
namespace {

constexpr std::string_view own_prefix = "python-";
constexpr std::uint64_t kept_bytes_max = std::uint64_t{4} << 30;

// Of a text that is part of a file's name.
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t offset = 14695981039346656037U;
  constexpr std::uint64_t prime = 1099511628211U;
  std::uint64_t hash = offset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

// The file beside it whose time says when it was last used: nobody compares that one's own.
std::filesystem::path record_of(std::filesystem::path image) { return image += ".record"; }

}  // namespace

void ImageClaim::settle() noexcept {
  if (lock_) ::unlink(file_.c_str());
  lock_.reset();
}

std::filesystem::path ImageCache::file(const wasm::Module& module, std::string_view key) const {
  const std::string more = key.empty() ? "" : fmt::format("-{:016x}", hash_of(key));
  return folder_ / fmt::format("{}{:.16}-{:.16}{}.image", own_prefix,
                               wasm::to_hex(module.info().digest), library_id_, more);
}

std::shared_ptr<const wasm::MemoryImage> ImageCache::load(const wasm::Module& module,
                                                          std::string_view key) const {
  if (folder_.empty()) return nullptr;
  const std::filesystem::path path = file(module, key);
  auto image = wasm::MemoryImage::load(path, module);
  if (!image) return nullptr;
  mark_used(path);
  return *std::move(image);
}

void ImageCache::save(const wasm::Module& module, std::string_view key,
                      const wasm::MemoryImage& image) const {
  std::filesystem::create_directories(folder_);
  const std::filesystem::path path = file(module, key);
  image.save(path);
  prune_images(folder_, own_prefix, kept_bytes_max, path);
}

std::optional<ImageClaim> ImageCache::claim(const wasm::Module& module,
                                            std::string_view key) const {
  if (folder_.empty()) return ImageClaim();
  std::error_code ignored;  // then there is no claim either
  std::filesystem::create_directories(folder_, ignored);
  std::filesystem::path path = file(module, key) += ".making";
  constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  bool is_new = true;
  UniqueFd lock(::open(path.c_str(), flags | O_EXCL, 0600));
  if (!lock && errno == EEXIST) {
    is_new = false;
    lock = UniqueFd(::open(path.c_str(), flags, 0600));
  }
  if (!lock) return ImageClaim();  // a folder that cannot be written: everybody for themselves
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return ImageClaim(std::move(path), std::move(lock), !is_new);
}

void mark_used(const std::filesystem::path& image) noexcept try {
  (void)::utimensat(AT_FDCWD, record_of(image).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
} catch (const std::bad_alloc&) {
  return;
}

void prune_images(const std::filesystem::path& folder, std::string_view prefix,
                  std::uint64_t bytes_max, const std::filesystem::path& kept) noexcept try {
  using Used = std::tuple<std::filesystem::file_time_type, std::uint64_t, std::filesystem::path>;
  std::vector<Used> images;
  std::uint64_t bytes = 0;
  const auto names = folder_names(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::filesystem::path path = folder / name;
    if (!name.starts_with(prefix) || path.extension() != ".image") continue;
    std::error_code error;  // of one that another process removes meanwhile
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error) continue;
    bytes += size;
    auto used = std::filesystem::last_write_time(record_of(path), error);
    if (error) used = std::filesystem::last_write_time(path, error);
    if (path != kept && !error) images.emplace_back(used, size, path);
  }
  std::ranges::sort(images);
  for (const auto& [used, size, path] : images) {
    if (bytes <= bytes_max) return;
    for (const char* part : {"", ".record", ".seen"}) std::filesystem::remove(path.string() + part);
    bytes -= size;
  }
} catch (const std::exception&) {
  return;
}

}  // namespace cloche::python

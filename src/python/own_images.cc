// SPDX-License-Identifier: Apache-2.0
#include "python/own_images.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/host_error.h"

namespace cloche::python {
namespace {

wasm::FileIdentity identity_of(const UniqueFd& fd, const std::filesystem::path& file) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0)
    throw HostError::from_errno("cannot read the image " + file.string(), errno);
  return wasm::FileIdentity(status);
}

// Images that were saved a moment ago: programs that save and bring back do it in turn.
constexpr std::size_t most_saved = 2;
constexpr std::uint64_t most_saved_bytes = std::uint64_t{32} << 20;  // of each

}  // namespace

std::shared_ptr<OwnImage> OwnImages::open(const std::filesystem::path& file,
                                          const wasm::Module& module, const FindBase& find_base) {
  const MutexLock lock(mutex_);
  UniqueFd fd = open_image(file);
  const wasm::FileIdentity identity = identity_of(fd, file);
  if (const auto known = opened_.find(file);
      known != opened_.end() && known->second.file == identity) {
    if (auto image = known->second.image.lock()) return image;
  }
  std::erase_if(opened_, [](const auto& entry) { return entry.second.image.expired(); });
  auto image = std::make_shared<OwnImage>();
  const ImageBuild build{wasm::to_hex(module.info().digest), library_id_};
  const OpenedImage opened = read_opened_image(std::move(fd), file);
  image->memory = opened.header.base ? load_layer_file(file, opened, build, module, find_base)
                                     : load_image_file(file, opened, build, module, cache_folder_);
  image->packages = opened.header.packages;
  image->folder = opened.header.folder;
  opened_.insert_or_assign(file, Opened{identity, image});
  return image;
}

void OwnImages::save(const std::filesystem::path& file,
                     const std::shared_ptr<const wasm::MemoryImage>& image, SavedImage what,
                     const std::optional<BootImages::Known>& base) {
  ImageHeader header;
  header.build = {wasm::to_hex(image->module_digest()), library_id_};
  header.packages = what.packages;
  header.folder = what.folder;
  std::optional<std::vector<wasm::PageRun>> runs;
  if (base) runs = image->pages_over(*base->image->memory);
  const std::uint64_t bytes = runs ? wasm::bytes_of(*runs) : image->memory_bytes();
  if (what.limit_bytes != 0 && bytes > what.limit_bytes)
    throw HostError(fmt::format("it takes {} bytes, and may take {}", bytes, what.limit_bytes),
                    Errno::fbig);
  if (!runs) {
    write_image_file(file, *image, std::move(header));
    return;
  }
  const wasm::FileIdentity written =
      write_layer_file(file, *image, *runs, std::move(header), *base);
  if (bytes > most_saved_bytes) return;
  auto kept = std::make_shared<OwnImage>();
  kept->memory = image;
  kept->packages = std::move(what.packages);
  kept->folder = std::move(what.folder);
  const MutexLock lock(mutex_);
  std::erase_if(opened_, [](const auto& entry) { return entry.second.image.expired(); });
  opened_.insert_or_assign(file, Opened{written, kept});
  saved_.push_front(std::move(kept));
  if (saved_.size() > most_saved) saved_.pop_back();
}

void OwnImages::use(const kernel::Kernel& kernel, std::shared_ptr<OwnImage> image) {
  const MutexLock lock(mutex_);
  if (image) {
    used_.insert_or_assign(&kernel, std::move(image));
  } else {
    used_.erase(&kernel);
  }
}

std::shared_ptr<OwnImage> OwnImages::used_by(const kernel::Kernel& kernel) const {
  const MutexLock lock(mutex_);
  const auto found = used_.find(&kernel);
  return found == used_.end() ? nullptr : found->second;
}

}  // namespace cloche::python

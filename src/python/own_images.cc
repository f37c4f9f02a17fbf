// SPDX-License-Identifier: Apache-2.0
#include "python/own_images.h"

#include <sys/stat.h>

#include <optional>

namespace cloche::python {
namespace {

std::optional<wasm::FileIdentity> identity_of(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return wasm::FileIdentity(status);
}

}  // namespace

std::shared_ptr<OwnImage> OwnImages::open(const std::filesystem::path& file,
                                          const wasm::Module& module) {
  const MutexLock lock(mutex_);
  const auto identity = identity_of(file);
  if (const auto known = opened_.find(file);
      identity && known != opened_.end() && known->second.file == *identity) {
    if (auto image = known->second.image.lock()) return image;
  }
  std::erase_if(opened_, [](const auto& entry) { return entry.second.image.expired(); });
  auto image = std::make_shared<OwnImage>();
  image->memory = load_image_file(file, {wasm::to_hex(module.info().digest), library_id_}, module,
                                  cache_folder_);
  image->packages = read_image_header(file).packages;
  if (identity) opened_.insert_or_assign(file, Opened{*identity, image});
  return image;
}

void OwnImages::save(const std::filesystem::path& file, const wasm::MemoryImage& image,
                     std::vector<std::string> packages) const {
  ImageHeader header;
  header.build = {wasm::to_hex(image.module_digest()), library_id_};
  header.packages = std::move(packages);
  write_image_file(file, image, std::move(header));
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

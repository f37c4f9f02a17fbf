// SPDX-License-Identifier: Apache-2.0
// OwnImages: image files of the user's (image_file.h) that are in use, and which sandboxes start
// their Python from one. Sandboxes of one image share its memory.
//
// Thread-safe. Functions throw HostError where image_file.h's do.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "python/boot_images.h"
#include "python/image_file.h"
#include "python/layer_file.h"
#include "wasm/trusted_file.h"

namespace cloche::python {

// Sessions start from it (PythonSession::start_from, with session_pages), and processes.
struct OwnImage : BootImage {
  std::vector<std::string> packages;
  std::string folder;  // see ImageHeader
};

struct SavedImage {
  std::vector<std::string> packages;
  std::string folder;
  std::uint64_t limit_bytes = 0;  // of what is written; 0: none
};

class OwnImages {
 public:
  // `cache_folder`: see load_image_file.
  OwnImages(std::filesystem::path cache_folder, std::string library_id)
      : cache_folder_(std::move(cache_folder)), library_id_(std::move(library_id)) {}

  std::shared_ptr<OwnImage> open(const std::filesystem::path& file, const wasm::Module& module,
                                 const FindBase& find_base);
  // With a base the file has only what lies over it. What was saved is kept a while, so that
  // open() need not read it. EFBIG, before anything is written: that is beyond the limit.
  void save(const std::filesystem::path& file,
            const std::shared_ptr<const wasm::MemoryImage>& image, SavedImage what,
            const std::optional<BootImages::Known>& base);

  // Processes of this kernel start from `image`; null: not any more.
  void use(const kernel::Kernel& kernel, std::shared_ptr<OwnImage> image);
  std::shared_ptr<OwnImage> used_by(const kernel::Kernel& kernel) const;

 private:
  struct Opened {
    wasm::FileIdentity file;  // as it was then
    std::weak_ptr<OwnImage> image;
  };

  const std::filesystem::path cache_folder_;
  const std::string library_id_;
  mutable Mutex mutex_;
  std::deque<std::shared_ptr<OwnImage>> saved_ GUARDED_BY(mutex_);  // the latest first
  std::map<std::filesystem::path, Opened> opened_ GUARDED_BY(mutex_);
  std::map<const kernel::Kernel*, std::shared_ptr<OwnImage>> used_ GUARDED_BY(mutex_);
};

}  // namespace cloche::python

// SPDX-License-Identifier: Apache-2.0
// What all native sandboxes of an engine share: the warden that makes their boxes, and the store of
// images.
#pragma once

#include <filesystem>

#include "native/host/warden.h"
#include "native/images/image_store.h"

namespace cloche::sandbox {

class NativeParts {
 public:
  explicit NativeParts(const std::filesystem::path& system_folder);

  native::Warden& warden() noexcept { return warden_; }
  images::ImageStore& images() noexcept { return images_; }

 private:
  native::Warden warden_;
  images::ImageStore images_;
};

}  // namespace cloche::sandbox

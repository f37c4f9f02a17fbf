// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_parts.h"

#include "sandbox/host_folders.h"
#include "sandbox/native/default_images.h"

namespace cloche::sandbox {

images::ImageStore default_image_store(const std::filesystem::path& system_folder) {
  return images::ImageStore({.folder = images::default_image_folder(),
                             .unpacker = default_helper_program("cloche-unpack", system_folder),
                             .puller = default_helper_program("cloche-pull", system_folder)});
}

NativeParts::NativeParts(const std::filesystem::path& system_folder)
    : warden_(default_helper_program("cloche-warden", system_folder)),
      images_(default_image_store(system_folder)) {}

}  // namespace cloche::sandbox

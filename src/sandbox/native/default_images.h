// SPDX-License-Identifier: Apache-2.0
// The store of system images that this user has.
#pragma once

#include <filesystem>

#include "native/images/image_store.h"

namespace cloche::sandbox {

// `system_folder` as in default_helper_program.
images::ImageStore default_image_store(const std::filesystem::path& system_folder);

}  // namespace cloche::sandbox

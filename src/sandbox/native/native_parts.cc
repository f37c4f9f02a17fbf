// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_parts.h"

#include "base/host_error.h"
#include "sandbox/environment_number.h"
#include "sandbox/host_folders.h"
#include "sandbox/native/default_images.h"
#include "sandbox/native/runsc_program.h"

namespace cloche::sandbox {

images::ImageStore default_image_store(const std::filesystem::path& system_folder) {
  return images::ImageStore({.folder = images::default_image_folder(),
                             .unpacker = default_helper_program("cloche-unpack", system_folder),
                             .puller = default_helper_program("cloche-pull", system_folder)});
}

namespace {

// $CLOCHE_READY_BOXES: how many of a kind.
native::BoxPool::Options pool_options() {
  constexpr std::size_t most = 64;
  native::BoxPool::Options options;
  const auto boxes =
      environment_number("CLOCHE_READY_BOXES", most,
                         "is no number up to 64: say how many boxes of a kind wait, or 0 for none");
  if (!boxes) return options;
  options.boxes_of_a_kind = *boxes;
  options.most_boxes = 2 * *boxes;
  return options;
}

}  // namespace

int NativeParts::runsc() {
  const MutexLock lock(runsc_mutex_);
  if (!runsc_) runsc_ = open_runsc(system_folder_);
  return runsc_.get();
}

NativeParts::NativeParts(const std::filesystem::path& system_folder)
    : warden_(default_helper_program("cloche-warden", system_folder), pool_options()),
      images_(default_image_store(system_folder)),
      system_folder_(system_folder),
      ready_sandboxes_(*this, warden_.pool().is_on()) {}

}  // namespace cloche::sandbox

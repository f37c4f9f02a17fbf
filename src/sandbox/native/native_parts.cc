// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_parts.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/host_error.h"
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
  const char* const given = std::getenv("CLOCHE_READY_BOXES");
  if (given == nullptr || *given == '\0') return options;
  const std::string_view text(given);
  std::size_t boxes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), boxes);
  if (error != std::errc() || end != text.data() + text.size() || boxes > most)
    throw HostError("CLOCHE_READY_BOXES=" + std::string(text) +
                    " is no number up to 64: say how many boxes of a kind wait, or 0 for none");
  options.boxes_of_a_kind = boxes;
  options.most_boxes = 2 * boxes;
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
      system_folder_(system_folder) {}

}  // namespace cloche::sandbox

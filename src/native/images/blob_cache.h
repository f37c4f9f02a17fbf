// SPDX-License-Identifier: Apache-2.0
// BlobCache: what came from registries, by its digest: images that are brought share their layers
// on the way. A blob stays while an image of the store was made of it. Several processes may use it
// at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "native/images/oci_layout.h"
#include "native/images/reference.h"

namespace cloche::images {

// Whether registries but those of this machine may be asked without TLS.
enum class PlainHttp : std::uint8_t { own_machine, anywhere };

struct PullOptions {
  std::filesystem::path auth_file;  // config.json of Docker; empty: as the environment says
  PlainHttp plain_http = PlainHttp::own_machine;
};

class BlobCache {
 public:
  // In that folder, which is made. While it lives nothing is cleared. Throws Error.
  explicit BlobCache(const std::filesystem::path& folder);

  // Brings what is missing by `cloche-pull`. The manifest's digest. Throws Error.
  std::string pull(const std::filesystem::path& program, const Reference& reference,
                   std::uint64_t most_bytes, const PullOptions& options) const;
  ImageSource open(const std::string& digest) const;

  // Removes what none of these manifests names. Nothing happens while anybody uses the folder.
  static void clear(const std::filesystem::path& folder, const std::set<std::string>& manifests);

 private:
  UniqueFd folder_;  // with a shared lock
};

}  // namespace cloche::images

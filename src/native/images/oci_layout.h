// SPDX-License-Identifier: Apache-2.0
// What is in a folder that holds an OCI image as files: an OCI layout, or what `docker save`
// writes. The folder may come out of an archive that nobody trusts: links in it lead nowhere else,
// and every blob is what its digest says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "native/images/image_config.h"

namespace cloche::images {

struct ImageSource {
  std::string name;    // that it gives itself; empty: none
  std::string digest;  // of the manifest; empty: it has none
  ImageConfig config;
  std::vector<UniqueFd> layers;  // archives, from the lowest up, each read and found right
};

// Nothing: the folder is neither. Throws Error with one sentence for one that is damaged, or has
// no image for this machine.
std::optional<ImageSource> read_image_folder(int folder);

// The image of one manifest whose blobs are in the folder's blobs/sha256. Throws as above.
ImageSource read_image_blobs(int folder, const std::string& digest);

// The digests of that manifest's blobs, itself among them. Empty: it is not there, or damaged.
std::vector<std::string> blobs_of(int folder, const std::string& digest);

}  // namespace cloche::images

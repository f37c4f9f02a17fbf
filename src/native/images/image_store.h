// SPDX-License-Identifier: Apache-2.0
// ImageStore: the system images that native sandboxes are made of, each a folder with its files and
// its configuration. An image is there whole or not at all; several processes may use a store.
//
// Sources are registries, OCI layouts (a folder, or an archive of one), archives of `docker save`,
// archives of a file system, and folders of one. Blobs are checked by their digests; what is in
// archives is read by a process in a jail (see unpacker.h), and registries are asked by another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "native/images/blob_cache.h"
#include "native/images/image_config.h"
#include "native/images/reference.h"

namespace cloche::images {

struct Image {
  std::string name;
  std::string digest;  // of the manifest; empty: it had none
  ImageConfig config;
  UniqueFd root;  // its files, open for reading
};

struct ImageSummary {
  std::string name;
  std::string digest;
  std::string architecture;
};

class ImageStore {
 public:
  struct Options {
    std::filesystem::path folder;            // made when something is imported
    std::filesystem::path unpacker;          // cloche-unpack; empty: archives are refused
    std::filesystem::path puller;            // cloche-pull; empty: no registry is asked
    std::uint64_t most_bytes = 32ULL << 30;  // of an image's files, and of what is brought for it
    std::uint64_t most_files = 4'000'000;
  };
  explicit ImageStore(Options options) : options_(std::move(options)) {}

  // Throws Error with one sentence: there is none of this name, it is for another CPU.
  Image open(const std::string& name) const;

  // Takes an image in, instead of one of that name. Empty: the name that the source says, or the
  // file's. The name. Throws Error; then nothing has changed.
  std::string import(const std::filesystem::path& source, std::string name);

  // Brings an image from a registry, instead of one of that name; empty: the name is `reference` as
  // it is written. Nothing is unpacked where the image of that name is that one. The name. Throws
  // Error; then the image of that name is as before.
  std::string pull(const std::string& reference, std::string name, const PullOptions& options);

  // Takes in what a box has become, instead of an image of that name: `changes` is a stream as
  // boxes write it (native/warden/tree_stream.h), of a box of `base`, from its start. Files that
  // both have are one file on the disk. Throws Error; then nothing has changed.
  void commit(const std::string& name, const Image& base, const UniqueFd& changes,
              ImageConfig config);

  // Throws HostError with one sentence where archives cannot be taken in, before somebody makes
  // one.
  void expect_archives() const;

  std::vector<ImageSummary> list() const;
  // Throws Error where there is none. Sandboxes that are made of it go on.
  void remove(const std::string& name);

 private:
  std::filesystem::path place_of(const std::string& name) const;
  std::filesystem::path blobs_folder() const;
  void clear_blobs() const;

  Options options_;
};

// Lower-case letters, digits, and . _ - / : @ between them, as references are written. Throws
// Error for another text.
void check_image_name(const std::string& name);

// $CLOCHE_IMAGES, or $XDG_DATA_HOME/cloche/images or ~/.local/share/cloche/images. Empty when none
// of these variables is set.
std::filesystem::path default_image_folder();

}  // namespace cloche::images

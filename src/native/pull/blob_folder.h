// SPDX-License-Identifier: Apache-2.0
// BlobFolder: blobs as files that are named by their digests, as in an OCI layout. A blob is there
// whole, or not at all. BlobFile: one that is on its way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "native/images/manifest.h"

namespace cloche::pull {

class BlobFile {
 public:
  // Without finish() nothing is left.
  ~BlobFile();
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  // Throws Error where there are more bytes than the blob has, and where the host fails.
  void add(std::string_view piece);
  // As if nothing had been added.
  void restart();
  // Throws Error where it is not what its digest says.
  void finish();

 private:
  friend class BlobFolder;
  BlobFile(int folder, images::Descriptor blob);

  const int folder_;
  const images::Descriptor blob_;
  std::string part_;  // its name meanwhile; empty: it has got its own
  UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Sha256> digest_ = std::make_unique<Sha256>();
};

class BlobFolder {
 public:
  // Makes blobs/sha256 in the folder. Throws Error.
  explicit BlobFolder(int folder);

  // It is there, and right: one that is damaged is removed.
  bool has(const images::Descriptor& blob) const;
  std::unique_ptr<BlobFile> start(const images::Descriptor& blob) const;
  // What may still be written there.
  std::uint64_t free_bytes() const;

 private:
  UniqueFd blobs_;
};

std::string sha256_digest(std::string_view text);

}  // namespace cloche::pull

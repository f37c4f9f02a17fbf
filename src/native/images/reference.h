// SPDX-License-Identifier: Apache-2.0
// The name of an image in a registry, as people write it: debian, debian:12, ghcr.io/a/b@sha256:...
#pragma once

#include <string>
#include <string_view>

namespace cloche::images {

struct Reference {
  std::string registry;    // a host, and a port where one was said; docker.io where none was
  std::string repository;  // of docker.io with its folder: library/debian
  std::string tag;         // latest where neither a tag nor a digest was said; or empty
  std::string digest;      // sha256: and 64 digits; empty: by the tag

  // The grammar of the distribution specification, with or without docker:// before it. Throws
  // Error with one sentence for another text.
  static Reference parse(std::string_view text);

  // What the registry is asked for: the digest, or the tag.
  const std::string& version() const { return digest.empty() ? tag : digest; }
  // Whole, with registry and tag.
  std::string text() const;

  friend bool operator==(const Reference&, const Reference&) = default;
};

// sha256: and 64 digits in lower case.
bool is_sha256_digest(std::string_view text);

}  // namespace cloche::images

// SPDX-License-Identifier: Apache-2.0
// What a registry says of an image: OCI's manifest and index, and those of Docker's schema 2, which
// have the same members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::images {

struct Descriptor {
  std::string media_type;
  std::string digest;  // sha256: and 64 digits
  std::uint64_t size = 0;

  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

struct Manifest {
  // Of an index: the manifest, or another index, for this machine. Then there is nothing else.
  std::optional<Descriptor> chosen;
  Descriptor config;
  std::vector<Descriptor> layers;  // from the lowest up

  // Of all its blobs; no overflow, as sizes are bounded.
  std::uint64_t bytes() const;
};

inline constexpr std::size_t most_manifest_bytes = 4 << 20;  // as registries have it
inline constexpr std::uint64_t most_config_bytes = 8 << 20;

// Throws Error with one sentence: it is none, is of the old schema 1, is of something that is no
// image of a system, has a layer of an unknown kind, or has nothing for this machine.
Manifest parse_manifest(std::string_view text);

// What parse_manifest understands, for the header Accept.
std::string manifest_media_types();

}  // namespace cloche::images

// SPDX-License-Identifier: Apache-2.0
#include "native/images/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "base/json_lookup.h"
#include "native/images/image_config.h"
#include "native/images/reference.h"

namespace cloche::images {
namespace {

constexpr std::size_t most_layers = 256;
constexpr std::size_t most_entries = 4096;
constexpr std::uint64_t most_blob_bytes = std::uint64_t{1} << 42;

constexpr std::array<std::string_view, 4> manifest_kinds{
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
};
constexpr std::array<std::string_view, 2> config_kinds{
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
};
constexpr std::array<std::string_view, 7> layer_kinds{
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
};

// What comes from elsewhere and is told to a person.
std::string shown(const std::string& text) {
  std::string out = text.substr(0, 100);
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out.empty() ? "nothing" : out;
}

Descriptor read_descriptor(const Json& value) {
  Descriptor found{.media_type = text_in(value, "mediaType"), .digest = text_in(value, "digest")};
  if (!is_sha256_digest(found.digest))
    throw request_error("the image names a blob by a digest that is no SHA-256");
  const Json* size = find_member(value, "size");
  if (size == nullptr || !size->is_number_integer() || *size < 0 || *size > most_blob_bytes)
    throw request_error(fmt::format("the image does not say how long {} is", found.digest));
  found.size = size->get<std::uint64_t>();
  return found;
}

const Json& list_in(const Json& object, const char* name, std::size_t most) {
  const Json& list = *find_member(object, name);
  if (!list.is_array()) throw request_error(fmt::format("the image's {} are no list", name));
  if (list.size() > most)
    throw request_error(fmt::format("the image has more than {} {}", most, name));
  return list;
}

// How well an image of an index fits: the lower the better; nothing: not at all. What does not say
// for whom it is comes last, and of a CPU's variants the one that every such CPU can run first.
std::optional<int> distance(const Json& entry) {
  const Json* platform = find_member(entry, "platform");
  if (platform == nullptr) return 3;
  if (text_in(*platform, "os") != "linux" ||
      text_in(*platform, "architecture") != own_architecture())
    return std::nullopt;
  const std::string variant = text_in(*platform, "variant");
  if (variant.empty() || variant == "v8" || variant == "v1") return 0;
  return own_architecture() == "amd64" ? std::nullopt : std::optional(1);
}

std::string machines_of(const Json& list) {
  std::string all;
  for (const Json& entry : list) {
    const Json* platform = find_member(entry, "platform");
    const std::string name = platform == nullptr ? "" : text_in(*platform, "architecture");
    if (name.empty() || name == "unknown" || all.size() > 200) continue;
    all += (all.empty() ? "" : ", ") + shown(text_in(*platform, "os") + "/" + name);
  }
  return all.empty() ? "nobody" : all;
}

Descriptor choose(const Json& list) {
  const Json* best = nullptr;
  int nearest = 0;
  for (const Json& entry : list) {
    const std::optional<int> far = distance(entry);
    if (!far || (best != nullptr && *far >= nearest)) continue;
    best = &entry;
    nearest = *far;
  }
  if (best == nullptr)
    throw request_error(fmt::format("the image is for {}, and this machine is linux/{}",
                                    machines_of(list), own_architecture()));
  return read_descriptor(*best);
}

template <std::size_t size>
bool is_one_of(const std::string& kind, const std::array<std::string_view, size>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

Manifest read_image(const Json& whole) {
  Manifest manifest;
  manifest.config = read_descriptor(*find_member(whole, "config"));
  if (!is_one_of(manifest.config.media_type, config_kinds))
    throw request_error(fmt::format("what is there is no image of a system, but {}",
                                    shown(manifest.config.media_type)));
  if (manifest.config.size > most_config_bytes)
    throw request_error("the image's configuration is too long");
  for (const Json& layer : list_in(whole, "layers", most_layers)) {
    manifest.layers.push_back(read_descriptor(layer));
    if (!is_one_of(manifest.layers.back().media_type, layer_kinds))
      throw request_error(fmt::format("the image has a layer of an unknown kind, {}",
                                      shown(manifest.layers.back().media_type)));
  }
  return manifest;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = config.size;
  for (const Descriptor& layer : layers) sum += layer.size;
  return sum;
}

Manifest parse_manifest(std::string_view text) {
  if (text.size() > most_manifest_bytes) throw request_error("the image's manifest is too long");
  const auto read = read_json<Json>(text, {});
  const Json* whole = std::get_if<Json>(&read);
  if (whole == nullptr || !whole->is_object())
    throw request_error("the image's manifest is no JSON object");
  const Json* version = find_member(*whole, "schemaVersion");
  if (version != nullptr && *version == 1)
    throw request_error("the image's manifest is of Docker's schema 1, which is not taken");
  const bool is_index = find_member(*whole, "manifests") != nullptr;
  const bool is_image =
      find_member(*whole, "config") != nullptr && find_member(*whole, "layers") != nullptr;
  // What can be read in two ways is not read.
  if (is_index == is_image)
    throw request_error("the image's manifest is neither of an image nor of several");
  if (is_image) return read_image(*whole);
  Manifest manifest;
  manifest.chosen = choose(list_in(*whole, "manifests", most_entries));
  return manifest;
}

std::string manifest_media_types() { return fmt::format("{}", fmt::join(manifest_kinds, ", ")); }

}  // namespace cloche::images

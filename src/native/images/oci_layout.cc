// SPDX-License-Identifier: Apache-2.0
#include "native/images/oci_layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/host_error.h"
#include "base/json_lookup.h"
#include "base/sha256.h"
#include "native/images/reference.h"

namespace cloche::images {
namespace {

constexpr std::size_t most_json_bytes = 8 << 20;
constexpr std::size_t most_layout_layers = 256;
constexpr int most_indexes = 4;  // one in another

// A regular file below the folder; nothing: there is no such file.
UniqueFd open_inside(int folder, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
  struct stat of{};
  if (!file || ::fstat(file.get(), &of) != 0 || !S_ISREG(of.st_mode)) return {};
  return file;
}

// The SHA-256 of files: one that is named many times is read once.
class Digests {
 public:
  const std::string& of(const UniqueFd& file) {
    struct stat info{};
    if (::fstat(file.get(), &info) != 0)
      throw HostError::from_errno("reading a blob of the image", errno);
    const auto [found, is_new] = known_.try_emplace({info.st_dev, info.st_ino});
    if (is_new) found->second = read(file);
    return found->second;
  }

 private:
  static std::string read(const UniqueFd& file);

  std::map<std::pair<dev_t, ino_t>, std::string> known_;
};

std::string Digests::read(const UniqueFd& file) {
  Sha256 digest;
  std::array<std::byte, 65536> piece;
  std::uint64_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0) throw HostError::from_errno("reading a blob of the image", errno);
    if (got == 0) break;
    digest.add(std::span(piece).first(static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  return to_hex(digest.end());
}

Json read_json_file(const UniqueFd& file, const std::string& what) {
  std::string text(most_json_bytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = ::pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  if (size > most_json_bytes) throw request_error(fmt::format("the image's {} is too long", what));
  std::optional<Json> value = parse_json(text);
  if (!value) throw request_error(fmt::format("the image's {} is no JSON", what));
  return *std::move(value);
}

std::vector<Json> values_of(const Json& object, const char* name, std::size_t most) {
  const Json* value = find_member(object, name);
  if (value == nullptr || !value->is_array()) return {};
  if (value->size() > most)
    throw request_error(fmt::format("the image has more than {} {}", most, name));
  return {value->begin(), value->end()};
}

// The blobs of a folder.
class Blobs {
 public:
  explicit Blobs(int folder) : folder_(folder) {}
  // Its digest has been found right.
  UniqueFd open(const std::string& digest);

 private:
  const int folder_;
  Digests digests_;
};

UniqueFd Blobs::open(const std::string& digest) {
  if (!is_sha256_digest(digest))
    throw request_error("the image names a blob by a digest that is no SHA-256");
  const std::string hex = digest.substr(digest.find(':') + 1);
  UniqueFd blob = open_inside(folder_, "blobs/sha256/" + hex);
  if (!blob) throw request_error("the image has no blob " + digest);
  if (digests_.of(blob) != hex)
    throw request_error("the blob " + digest +
                        " of the image is another: it was damaged on its way");
  return blob;
}

bool fits_machine(const Json& manifest) {
  const Json* platform = find_member(manifest, "platform");
  if (platform == nullptr) return true;
  const std::string architecture = text_in(*platform, "architecture");
  const std::string system = text_in(*platform, "os");
  return (architecture.empty() || architecture == own_architecture()) &&
         (system.empty() || system == "linux");
}

std::string name_of(const Json& manifest) {
  const Json* notes = find_member(manifest, "annotations");
  if (notes == nullptr) return {};
  const std::string whole = text_in(*notes, "io.containerd.image.name");
  return whole.empty() ? text_in(*notes, "org.opencontainers.image.ref.name") : whole;
}

ImageSource read_manifest(Blobs& blobs, const std::string& digest) {
  ImageSource source;
  source.digest = digest;
  const Json manifest = read_json_file(blobs.open(digest), "manifest");
  const Json* config = find_member(manifest, "config");
  if (config == nullptr) throw request_error("the image's manifest names no configuration");
  const UniqueFd config_blob = blobs.open(text_in(*config, "digest"));
  source.config = ImageConfig::parse(read_json_file(config_blob, "configuration").dump());
  for (const Json& layer : values_of(manifest, "layers", most_layout_layers))
    source.layers.push_back(blobs.open(text_in(layer, "digest")));
  return source;
}

}  // namespace

ImageSource read_image_blobs(int folder, const std::string& digest) {
  Blobs blobs(folder);
  return read_manifest(blobs, digest);
}

std::vector<std::string> blobs_of(int folder, const std::string& digest) try {
  const Json manifest = read_json_file(Blobs(folder).open(digest), "manifest");
  std::vector<std::string> all{digest};
  if (const Json* config = find_member(manifest, "config"))
    all.push_back(text_in(*config, "digest"));
  for (const Json& layer : values_of(manifest, "layers", most_layout_layers))
    all.push_back(text_in(layer, "digest"));
  return all;
} catch (const Error&) {
  return {};
}

namespace {

ImageSource read_index(Blobs& blobs, const Json& index, int depth) {
  if (depth > most_indexes) throw request_error("the image's indexes lead too deep");
  for (const Json& one : values_of(index, "manifests", 4096)) {
    if (!fits_machine(one)) continue;
    const std::string digest = text_in(one, "digest");
    const std::string kind = text_in(one, "mediaType");
    const bool is_index =
        kind.find("index") != std::string::npos || kind.find("manifest.list") != std::string::npos;
    ImageSource source =
        is_index ? read_index(blobs, read_json_file(blobs.open(digest), "index"), depth + 1)
                 : read_manifest(blobs, digest);
    if (const std::string name = name_of(one); !name.empty()) source.name = name;
    return source;
  }
  throw request_error(
      fmt::format("the image has nothing for this machine, which is {}", own_architecture()));
}

// Of releases of Docker before 25: layers are not compressed, and the configuration has their
// digests.
ImageSource read_docker(int folder, const Json& list) {
  if (!list.is_array() || list.empty())
    throw request_error("the image's manifest.json names no image");
  const Json& image = list.front();
  ImageSource source;
  const UniqueFd config_file = open_inside(folder, text_in(image, "Config"));
  if (!config_file) throw request_error("the image has no configuration");
  const Json config = read_json_file(config_file, "configuration");
  source.config = ImageConfig::parse(config.dump());
  const Json* files = find_member(config, "rootfs");
  const std::vector<Json> digests =
      files == nullptr ? std::vector<Json>() : values_of(*files, "diff_ids", most_layout_layers);
  const std::vector<Json> layers = values_of(image, "Layers", most_layout_layers);
  if (digests.size() != layers.size())
    throw request_error("the image's configuration does not name the digests of its layers");
  Digests found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    UniqueFd layer = open_inside(folder, layers[i].is_string() ? layers[i].get<std::string>() : "");
    if (!layer) throw request_error("the image lacks a layer");
    if (!digests[i].is_string() || "sha256:" + found.of(layer) != digests[i].get<std::string>())
      throw request_error("a layer of the image is another: it was damaged on its way");
    source.layers.push_back(std::move(layer));
  }
  if (const auto tags = values_of(image, "RepoTags", 1024);
      !tags.empty() && tags.front().is_string())
    source.name = tags.front().get<std::string>();
  return source;
}

}  // namespace

std::optional<ImageSource> read_image_folder(int folder) {
  if (const UniqueFd index = open_inside(folder, "index.json")) {
    Blobs blobs(folder);
    return read_index(blobs, read_json_file(index, "index"), 0);
  }
  if (const UniqueFd list = open_inside(folder, "manifest.json"))
    return read_docker(folder, read_json_file(list, "manifest.json"));
  return std::nullopt;
}

}  // namespace cloche::images

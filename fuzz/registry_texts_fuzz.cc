// SPDX-License-Identifier: Apache-2.0
// What people and registries say of images: references, the header WWW-Authenticate, manifests and
// indexes; and folders with an image's files. The first byte chooses one.
#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "base/temp_dir_testing.h"
#include "base/unique_fd.h"
#include "native/images/auth_challenge.h"
#include "native/images/image_config.h"
#include "native/images/manifest.h"
#include "native/images/oci_layout.h"
#include "native/images/reference.h"
#include "pieces.h"

namespace {

using namespace cloche;

// What is a part of an address must not be able to be more than that.
void read_reference(std::string_view input) try {
  const images::Reference reference = images::Reference::parse(input);
  CLOCHE_CHECK(images::Reference::parse(reference.text()) == reference);
  CLOCHE_CHECK(!reference.version().empty());
  const std::string all = reference.text();
  CLOCHE_CHECK(all.find_first_of(" \r\n?#%\\[]") == all.npos && all.find("/.") == all.npos);
} catch (const Error&) {
  return;
}

void read_challenges(std::string_view input) {
  const auto all = images::parse_auth_challenges(input);
  CLOCHE_CHECK(all.size() <= 16);
  for (const images::AuthChallenge& one : all) {
    CLOCHE_CHECK(!one.scheme.empty() && one.parameters.size() <= 32);
    for (const auto& [name, value] : one.parameters)
      CLOCHE_CHECK(!name.empty() && value.size() < input.size());
  }
}

void check(const images::Descriptor& blob) { CLOCHE_CHECK(images::is_sha256_digest(blob.digest)); }

void read_manifest(std::string_view input) try {
  const images::Manifest manifest = images::parse_manifest(input);
  if (manifest.chosen) return check(*manifest.chosen);
  check(manifest.config);
  CLOCHE_CHECK(manifest.config.size <= images::most_config_bytes);
  std::uint64_t sum = manifest.config.size;
  for (const images::Descriptor& layer : manifest.layers) {
    check(layer);
    CLOCHE_CHECK(sum + layer.size >= sum);
    sum += layer.size;
  }
  CLOCHE_CHECK(manifest.bytes() == sum);
} catch (const Error&) {
  return;
}

void read_config(std::string_view input) try {
  const images::ImageConfig config = images::ImageConfig::parse(input);
  (void)images::ImageConfig::parse(config.text());
} catch (const Error&) {
  return;
}

// "$0" is the digest of the first blob, and so on.
std::string with_digests(std::string_view text, const std::vector<std::string>& digests) {
  std::string whole;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t which = at + 1 < text.size() && text[at] == '$'
                                  ? static_cast<std::uint8_t>(text[at + 1]) - std::size_t{'0'}
                                  : digests.size();
    if (which < digests.size()) {
      whole += digests[which];
      ++at;
    } else {
      whole += text[at];
    }
  }
  return whole;
}

// Files, a line "--" between two: of each the first line is its name, none for a blob.
void read_folder(std::string_view input) {
  constexpr std::string_view between = "\n--\n";
  constexpr std::size_t most_files = 12;
  const TempDir folder;
  std::filesystem::create_directories(folder.path() / "blobs/sha256");
  std::vector<std::string> digests;
  for (std::size_t file = 0; file < most_files && !input.empty(); ++file) {
    std::string_view rest = fuzz::next_piece(input, between);
    std::string name(fuzz::next_piece(rest));
    const std::string content = with_digests(rest, digests);
    if (name.empty()) {
      Sha256 digest;
      digest.add(content);
      digests.push_back(to_hex(digest.end()));
      name = "blobs/sha256/" + digests.back();
    }
    const bool is_within = name == "index.json" || name == "manifest.json" || name == "layer.tar" ||
                           name.starts_with("blobs/");
    if (is_within && name.find("..") == name.npos && name.find('\0') == name.npos)
      folder.write(name, content);
  }
  const UniqueFd opened(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  try {
    const auto found = images::read_image_folder(opened.get());
    CLOCHE_CHECK(!found || found->layers.size() <= 256);
  } catch (const Error& wrong) {
    CLOCHE_CHECK(wrong.kind() == ErrorKind::request);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 16;
  if (size < 1 || size > most) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::uint8_t folder = 'F';
  if (data[0] == folder) {
    read_folder(input);
    return 0;
  }
  switch (data[0] % 4) {
    case 0: read_reference(input); break;
    case 1: read_challenges(input); break;
    case 2: read_manifest(input); break;
    default: read_config(input); break;
  }
  return 0;
}

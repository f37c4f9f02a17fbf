// SPDX-License-Identifier: Apache-2.0
// What people and registries say of images: references, the header WWW-Authenticate, manifests and
// indexes. The first byte chooses one.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "native/images/auth_challenge.h"
#include "native/images/image_config.h"
#include "native/images/manifest.h"
#include "native/images/reference.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 16;
  if (size < 1 || size > most) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: read_reference(input); break;
    case 1: read_challenges(input); break;
    case 2: read_manifest(input); break;
    default: read_config(input); break;
  }
  return 0;
}

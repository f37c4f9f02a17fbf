// SPDX-License-Identifier: Apache-2.0
// Files that a build, an earlier run or a user left on the host: packed packages, the heads of
// images, saved sessions. The first byte chooses one; what has a checksum gets the right one.
#include <openssl/sha.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/host_error.h"
#include "packages/bundle.h"
#include "python/image_file.h"
#include "session/state_store.h"

namespace {

using namespace cloche;

const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::string name = std::filesystem::temp_directory_path() / "cloche-fuzz-XXXXXX";
    CLOCHE_CHECK(::mkdtemp(name.data()) != nullptr);
    (void)std::atexit([] { std::filesystem::remove_all(folder()); });
    return std::filesystem::path(name);
  }();
  return path;
}

std::filesystem::path put(const char* name, std::string_view content) {
  const std::filesystem::path path = folder() / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

void read_bundle(std::string_view input) try {
  const packages::Bundle bundle(put("bundle", input));
  vfs::BaseBuilder builder;
  for (const packages::BundledPackage& package : bundle.packages())
    bundle.add_files(builder, package, "usr/lib");
} catch (const HostError&) {
  return;
}

void read_image(std::string_view input) try {
  // A head is as long as that, and what it tells of follows.
  constexpr std::size_t head_bytes = 65536;
  std::string file(input.substr(0, head_bytes));
  file.resize(head_bytes, '\0');
  (void)python::read_image_header(put("image", file));
} catch (const HostError&) {
  return;
}

void read_session(std::string_view input) {
  std::string file(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(reinterpret_cast<const unsigned char*>(input.data()), input.size(),
           reinterpret_cast<unsigned char*>(file.data()));
  put("s.session", file.append(input));
  session::StateStore store(folder());
  store.load([](const session::StateStore::Stored&) {}, [](const std::string&) {});
  std::filesystem::remove(folder() / "s.session.damaged");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: read_bundle(input); break;
    case 1: read_image(input); break;
    default: read_session(input); break;
  }
  return 0;
}

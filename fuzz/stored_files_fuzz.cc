// SPDX-License-Identifier: Apache-2.0
// Files that a build, an earlier run or a user left on the host: packed packages, the heads of
// images, saved sessions, trees of files. The first byte chooses one; what has a checksum gets the
// right one.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/hex.h"
#include "base/host_error.h"
#include "base/sha256.h"
#include "packages/bundle.h"
#include "python/image_file.h"
#include "session/state_store.h"
#include "vfs/base_builder.h"
#include "vfs/saved_tree.h"

namespace {

using namespace cloche;

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "cloche-fuzz-XXXXXX";
    CLOCHE_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Goes when the process ends.
const std::filesystem::path& folder() {
  static const Folder folder;
  return folder.path();
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

// The beginning of a session's file, with the checksum that it should have; and the file of the
// release before.
void read_session(std::string_view input) {
  static session::StateStore store(folder() / "state", host_files());
  std::string file;
  if (input.starts_with("cloche session 2\n")) {
    const std::size_t end = input.find('\n', input.find('\n') + 1);
    const std::string_view head = input.substr(0, end == input.npos ? end : end + 1);
    Sha256 digest;
    digest.add(head);
    file = std::string(head) + to_hex(digest.end()) + "\n";
    file += input.substr(head.size());
  } else {
    Sha256 digest;
    digest.add(input);
    const auto hash = digest.end();
    file.assign(reinterpret_cast<const char*>(hash.data()), hash.size()).append(input);
  }
  put("state/s.session", file);
  (void)store.list();
  for (const char* name : {"state/s.session", "state/s.session.damaged"})
    std::filesystem::remove(folder() / name);
}

void read_tree(std::string_view input) {
  constexpr vfs::Quota small{1 << 20, 1000};
  vfs::TreeReader reader(small);
  const Result<void> read = reader.read([&input](std::span<std::byte> to) -> Result<std::size_t> {
    const std::size_t count = std::min(to.size(), input.size());
    std::memcpy(to.data(), input.data(), count);
    input.remove_prefix(count);
    return count;
  });
  if (!read) return;
  vfs::BaseBuilder builder;
  CLOCHE_CHECK(builder.add_dir("tmp").ok());
  const auto files = vfs::make_fs<vfs::MemFs>(builder.freeze(), small, vfs::host_clock());
  const Result<void> put_back = reader.put_into(*files);
  CLOCHE_CHECK(!put_back || (files->usage().bytes <= small.bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= 0x80) {
    read_tree(input);
    return 0;
  }
  switch (data[0] % 3) {
    case 0: read_bundle(input); break;
    case 1: read_image(input); break;
    default: read_session(input); break;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The files of a linux sandbox as a stream (warden/tree_stream.h), from a stranger, into the files of
// a box that has some. What was taken is written as a stream again, which another box takes, and
// says the same.
//
// An input is items, each a short form of its record: kind, flags and mode, the sizes of path and
// bytes, a number; then the path and the bytes. A path's first byte below 16 stands for a name that
// is there.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "native/warden/tree_pack.h"
#include "native/warden/tree_stream.h"
#include "native/warden/tree_writer.h"
#include "own_root.h"

namespace {

using namespace cloche;
using warden::TreeItem;

const fuzz::OwnRoot root;

struct Short {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint16_t mode;
  std::uint8_t path_bytes;
  std::uint8_t bytes;
  std::uint16_t number;
};

constexpr std::array<std::string_view, 8> names{"a",  "a/b",      "a/b/c", "a/up",
                                                "up", "a/up/out", "to",    "file"};

std::string stream_of(std::string_view input) {
  std::string stream;
  while (input.size() >= sizeof(Short)) {
    Short given;
    std::memcpy(&given, input.data(), sizeof given);
    input.remove_prefix(sizeof given);
    std::string path(input.substr(0, given.path_bytes));
    input.remove_prefix(std::min<std::size_t>(given.path_bytes, input.size()));
    const std::string_view bytes = input.substr(0, given.bytes);
    input.remove_prefix(bytes.size());
    if (!path.empty() && static_cast<std::uint8_t>(path[0]) < 16)
      path =
          std::string(names.at(static_cast<std::uint8_t>(path[0]) % names.size())) + path.substr(1);
    // Now and then sizes are what they are not.
    const std::uint32_t lie = (given.flags & 0x80) != 0 ? 1U << (given.flags & 31) : 0;
    TreeItem item{.kind = static_cast<TreeItem::Kind>(given.kind & 15),
                  .hides_image = (given.flags & 1) != 0,
                  .path_bytes = static_cast<std::uint16_t>(path.size()),
                  .mode = given.mode,
                  .bytes = static_cast<std::uint32_t>(bytes.size()) ^ lie,
                  .number = (given.flags & 2) != 0 ? std::uint64_t{given.number} << 48
                                                   : std::uint64_t{given.number},
                  .accessed_ns = given.number,
                  .modified_ns = (given.flags & 4) != 0 ? -1 : 1};
    stream.append(reinterpret_cast<const char*>(&item), sizeof item);
    stream += path;
    stream += bytes;
  }
  const TreeItem end{};
  return stream.append(reinterpret_cast<const char*>(&end), sizeof end);
}

// In the root, as what follows.
void fill() {
  CLOCHE_CHECK(::mkdir("a", 0755) == 0 && ::mkdir("a/b", 0755) == 0 &&
               ::symlink("../..", "a/up") == 0 && ::symlink("..", "up") == 0);
  const UniqueFd file(::open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  CLOCHE_CHECK(static_cast<bool>(file));
}

std::string read_back(const UniqueFd& file) {
  std::string text(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  CLOCHE_CHECK(::pread(file.get(), text.data(), text.size(), 0) ==
               static_cast<ssize_t>(text.size()));
  return text;
}

// Empty: it has what no stream can say. Without what is of the file system below, not of the files:
// when something was read, and marks of an overlay.
std::string packed() {
  const UniqueFd to = fuzz::file_of({});
  const UniqueFd root_folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (warden::write_stream(root_folder.get(), to.get()) != 0) return {};
  std::string stream = read_back(to);
  for (std::size_t at = 0; at < stream.size();) {
    TreeItem item;
    CLOCHE_CHECK(stream.size() - at >= sizeof item);
    std::memcpy(&item, stream.data() + at, sizeof item);
    item.accessed_ns = 0;
    item.hides_image = false;
    std::memcpy(stream.data() + at, &item, sizeof item);
    at += sizeof item + item.path_bytes + item.bytes;
  }
  return stream;
}

std::ptrdiff_t entries_of(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

void try_stream(const std::string& stream) {
  constexpr warden::TreeLimits limits{.bytes = 1 << 12, .files = 60};
  const std::filesystem::path around = root.make("around");
  const std::filesystem::path box = root.make("around/box");
  const std::filesystem::path other = root.make("around/other");
  std::string first;
  root.within(box, [&] {
    fill();
    const UniqueFd file = fuzz::file_of(stream);
    if (warden::write_tree(file.get(), limits) == 0) first = packed();
  });
  CLOCHE_CHECK(entries_of(around) == 2 && entries_of(other) == 0);
  if (first.empty()) return;
  root.within(other, [&] {
    const UniqueFd again = fuzz::file_of(first);
    CLOCHE_CHECK(warden::write_tree(again.get(), {}) == 0);
    CLOCHE_CHECK(packed() == first);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 14;
  if (size > most || !root.is_there()) return 0;
  try_stream(stream_of({reinterpret_cast<const char*>(data), size}));
  return 0;
}

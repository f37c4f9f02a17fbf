// SPDX-License-Identifier: Apache-2.0
// Layers and archives of images, as tars whose headers have the checksums that they should have. The
// first byte says of which kind it is. Whatever is in one: nothing of it is outside of its folder,
// and what is inside is no device, no program for another user, and not more than there may be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>

#include "native/unpack/archive.h"
#include "own_root.h"

namespace {

using namespace cloche;

constexpr std::size_t block_bytes = 512;
constexpr std::size_t sum_at = 148, sum_bytes = 8, size_at = 124, size_bytes = 12;
constexpr unpack::Limits limits{.bytes = 1 << 18, .files = 60};

const fuzz::OwnRoot root;

std::uint64_t octal(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

void set_sums(std::string& tar) {
  for (std::size_t at = 0; at + block_bytes <= tar.size();) {
    const std::string_view head = std::string_view(tar).substr(at, block_bytes);
    const std::uint64_t size = octal(head.substr(size_at, size_bytes));
    std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(at + sum_at), sum_bytes, ' ');
    const unsigned sum = std::accumulate(head.begin(), head.end(), 0U, [](unsigned all, char c) {
      return all + static_cast<unsigned char>(c);
    });
    std::array<char, sum_bytes> text{};
    (void)std::snprintf(text.data(), text.size(), "%06o", sum);
    std::copy_n(text.begin(), sum_bytes, tar.begin() + static_cast<std::ptrdiff_t>(at + sum_at));
    at += block_bytes;
    if (size > tar.size()) break;
    at += (size + block_bytes - 1) / block_bytes * block_bytes;
  }
}

void check(const std::filesystem::path& folder) {
  const UniqueFd inside(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::uint64_t blocks = 0, entries = 0;
  fuzz::for_each_entry(inside.get(), [&](const struct stat& of) {
    ++entries;
    CLOCHE_CHECK(!S_ISCHR(of.st_mode) && !S_ISBLK(of.st_mode) && !S_ISSOCK(of.st_mode));
    CLOCHE_CHECK(S_ISDIR(of.st_mode) || (of.st_mode & (S_ISUID | S_ISGID)) == 0);
    if (S_ISREG(of.st_mode)) blocks += static_cast<std::uint64_t>(of.st_blocks);
  });
  // A name may have folders before it that no entry has: of one path.
  CLOCHE_CHECK(entries <= limits.files * 2048);
  // A file's last block of a file system is a whole one.
  CLOCHE_CHECK(blocks * 512 <= limits.bytes + limits.files * 65536);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 17;
  if (size < 1 || size > most || !root.is_there()) return 0;
  const bool is_layer = data[0] % 2 == 0;
  std::string tar(reinterpret_cast<const char*>(data) + 1, size - 1);
  set_sums(tar);
  tar.append(2 * block_bytes, '\0');
  const UniqueFd file = fuzz::file_of(tar);
  const std::filesystem::path around = root.make("around");
  const std::filesystem::path folder = root.make("around/folder");
  root.within(folder, [&] {
    // What a lower layer has: a folder, a file in it, links that lead up and to each other.
    CLOCHE_CHECK(::mkdir("a", 0755) == 0 && ::symlink("..", "a/up") == 0 &&
                 ::symlink("b", "c") == 0 && ::symlink("c", "b") == 0);
    try {
      unpack::unpack_archive(
          file.get(), is_layer ? unpack::ArchiveKind::layer : unpack::ArchiveKind::archive, limits);
    } catch (const unpack::Refused& refusal) {
      CLOCHE_CHECK(!std::string_view(refusal.what()).empty());
    }
  });
  CLOCHE_CHECK(std::distance(std::filesystem::directory_iterator(around), {}) == 1);
  check(folder);
  return 0;
}

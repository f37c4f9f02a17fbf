// SPDX-License-Identifier: Apache-2.0
#include "native/warden/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

constexpr std::size_t most_lines = 50'000;  // of a look
constexpr std::size_t piece_bytes = 16 << 10;
constexpr std::string_view of_system_v = "/SYSV";  // counted by its own table

// A line of maps: START-END PERMISSIONS OFFSET DEVICE INODE [NAME].
struct Mapping {
  std::uint64_t start = 0, end = 0, offset = 0, inode = 0;
  bool is_shared = false;
  std::string_view device, name;
};

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::uint64_t number(std::string_view text, int base) {
  std::uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

Mapping mapping_of(std::string_view line) {
  Mapping one;
  const std::string_view range = next_word(line);
  const std::size_t dash = std::min(range.find('-'), range.size());
  one.start = number(range.substr(0, dash), 16);
  one.end = number(range.substr(std::min(dash + 1, range.size())), 16);
  const std::string_view permissions = next_word(line);
  one.is_shared = permissions.size() > 3 && permissions[3] == 's';
  one.offset = number(next_word(line), 16);
  one.device = next_word(line);
  one.inode = number(next_word(line), 10);
  one.name = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return one;
}

// Calls `use` for each line, until it answers false. False then, where a line is too long, and where
// nobody may look.
template <typename Use>
bool for_each_line(pid_t pid, Use&& use) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/maps", pid);
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno != EACCES;
  static std::array<char, piece_bytes> text;
  std::size_t have = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got <= 0) return true;
    std::string_view rest(text.data(), have + static_cast<std::size_t>(got));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      if (!use(rest.substr(0, end))) return false;
      rest.remove_prefix(end + 1);
    }
    have = rest.size();
    if (have == text.size()) return false;
    std::memmove(text.data(), rest.data(), have);
  }
}

}  // namespace

SharedMemory::SharedMemory() noexcept {
  constexpr std::size_t page = 4096;
  void* const own =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;
  (void)for_each_line(::getpid(), [&](std::string_view line) {
    const Mapping one = mapping_of(line);
    if (one.start != reinterpret_cast<std::uint64_t>(own)) return true;
    one.device.copy(device_.data(), device_.size() - 1);
    return false;
  });
  ::munmap(own, page);
}

void SharedMemory::begin() noexcept {
  known_count_ = 0;
  lines_left_ = most_lines;
  bytes_ = 0;
}

std::uint64_t SharedMemory::take_line(std::string_view line) noexcept {
  const Mapping one = mapping_of(line);
  if (!one.is_shared || one.device != device_.data() || one.name.starts_with(of_system_v)) return 0;
  const std::uint64_t own = one.end - one.start;
  const std::uint64_t whole = one.offset + own;  // of its file, as far as is known
  const auto end = known_.begin() + static_cast<std::ptrdiff_t>(known_count_);
  const auto found = std::find_if(known_.begin(), end,
                                  [&](const Piece& piece) { return piece.inode == one.inode; });
  if (found != end) {
    if (whole > found->bytes) {
      bytes_ += whole - found->bytes;
      found->bytes = whole;
    }
    return own;
  }
  bytes_ += whole;
  if (known_count_ < known_.size()) known_[known_count_++] = {one.inode, whole};
  return own;
}

std::uint64_t SharedMemory::add(pid_t pid, std::uint64_t most) noexcept {
  std::uint64_t own = 0;
  const std::uint64_t before = bytes_;
  const bool is_whole = for_each_line(pid, [&](std::string_view line) {
    if (lines_left_ == 0) return false;
    --lines_left_;
    own += take_line(line);
    return true;
  });
  if (is_whole) return own;
  bytes_ = before + std::max(most, bytes_ - before);
  return std::max(most, own);
}

}  // namespace cloche::warden

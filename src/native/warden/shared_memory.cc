// SPDX-License-Identifier: Apache-2.0
#include "native/warden/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>

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

// Whether a thread is out of the mmap that it was about to make: it is gone, or waits in another
// call. Of one that runs nobody knows.
bool has_left(pid_t thread) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/syscall", thread);
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (got <= 0) {
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", thread);
    return ::access(path.data(), F_OK) != 0;
  }
  const std::string_view said(text.data(), static_cast<std::size_t>(got));
  long number = 0;
  const auto [at, error] = std::from_chars(said.data(), said.data() + said.size(), number);
  return error == std::errc() && number != SYS_mmap;  // otherwise it runs
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

// Null: there is no memory for it.
SharedMemory::Table* SharedMemory::table() noexcept {
  if (!table_) table_.reset(new (std::nothrow) Table);
  return table_.get();
}

bool SharedMemory::expect(pid_t thread, std::uint64_t bytes) noexcept {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  Table* const all = table();
  if (all == nullptr) return false;
  const auto known = std::ranges::find(all->open(), thread, &Call::thread);
  const bool is_new = known == all->open().end();
  if (is_new && all->call_count == all->calls.size()) return false;
  if (!is_new) all->earlier_bytes[0] += known->bytes;
  Call& call = is_new ? all->calls[all->call_count++] : *known;
  call = {.thread = thread, .bytes = bytes};
  expects_more_ = true;
  return true;
}

void SharedMemory::begin() noexcept {
  ++look_;
  is_whole_ = true;
  expects_more_ = false;
  beside_bytes_ = 0;
  lines_left_ = most_lines;
  if (!table_) return;
  for (Call& call : table_->open()) call.looks += call.looks > 0 || has_left(call.thread) ? 1 : 0;
}

// Null: it is not known, and there is no room for more.
SharedMemory::Piece* SharedMemory::piece_of(std::uint64_t inode) noexcept {
  Table* const all = table();
  if (all == nullptr) return nullptr;
  std::size_t place = inode % all->index.size();
  for (; all->index[place] != 0; place = (place + 1) % all->index.size()) {
    Piece& piece = all->pieces[all->index[place] - 1U];
    if (piece.inode == inode) return &piece;
  }
  if (all->piece_count == all->pieces.size()) return nullptr;
  Piece& made = all->pieces[all->piece_count++];
  made = {.inode = inode, .first_look = look_};
  all->index[place] = static_cast<std::uint16_t>(all->piece_count);
  return &made;
}

std::uint64_t SharedMemory::take_line(std::string_view line, std::uint64_t& mapped) noexcept {
  const Mapping one = mapping_of(line);
  if (!one.is_shared || one.device != device_.data() || one.name.starts_with(of_system_v)) return 0;
  mapped += one.end - one.start;
  const std::uint64_t whole = one.offset + one.end - one.start;  // of it, as far as is known
  Piece* const piece = piece_of(one.inode);
  if (piece == nullptr) {
    is_whole_ = false;
    beside_bytes_ += whole;
    return whole;
  }
  piece->bytes = std::max(piece->bytes, whole);
  piece->last_look = look_;
  return piece->bytes + (piece->rest == most_rests ? 0 : table_->rests[piece->rest]);
}

std::uint64_t SharedMemory::add(pid_t pid, std::uint64_t most) noexcept {
  std::uint64_t own = 0, mapped = 0;
  const bool is_whole = for_each_line(pid, [&](std::string_view line) {
    if (lines_left_ == 0) return false;
    --lines_left_;
    own += take_line(line, mapped);
    return true;
  });
  if (is_whole) return own;
  is_whole_ = false;
  beside_bytes_ += most - std::min(most, mapped);
  return std::max(most, own);
}

void SharedMemory::end() noexcept {
  bytes_ = beside_bytes_;
  if (!table_) return;
  bytes_ += settle();
  for (const Piece& piece : table_->known()) bytes_ += piece.bytes;
  for (const std::uint64_t rest : table_->rests) bytes_ += rest;
}

// What was expected, and may be where this look has not been: that counts then, and what was found
// is found by the next one. Processes come and go during a look, so that one alone may miss what is
// there.
std::uint64_t SharedMemory::settle() noexcept {
  Table& all = *table_;
  std::uint64_t expected = all.earlier_bytes[0] + all.earlier_bytes[1];
  for (const Call& call : all.open()) expected += call.bytes;
  std::uint64_t found = 0;
  for (Piece& piece : all.known()) {
    if (piece.first_look != look_) continue;
    found += piece.bytes;
    if (!is_whole_) ++piece.first_look;
  }
  if (!is_whole_) return expected;
  if (found > 0 && expected > found) keep_rest(expected - found);
  const unsigned enough = found > 0 ? 1 : 2;
  const auto left = std::ranges::remove_if(
      all.open(), [&](const Call& call) { return expected <= found || call.looks >= enough; });
  all.call_count -= left.size();
  all.earlier_bytes = {0, found > 0 ? 0 : all.earlier_bytes[0]};
  expects_more_ = all.earlier_bytes[1] > 0 ||
                  std::ranges::any_of(all.open(), [](const Call& call) { return call.looks > 0; });
  forget_gone();
  return 0;
}

// Of the pieces that this look has found. With all places taken the last one is for several looks.
void SharedMemory::keep_rest(std::uint64_t bytes) noexcept {
  std::size_t place = 0;
  while (place + 1 < most_rests && table_->rests[place] != 0) ++place;
  table_->rests[place] += bytes;
  for (Piece& piece : table_->known()) {
    if (piece.first_look == look_) piece.rest = place;
  }
}

// What two looks have not found.
void SharedMemory::forget_gone() noexcept {
  Table& all = *table_;
  const auto gone = std::ranges::remove_if(
      all.known(), [this](const Piece& piece) { return look_ - piece.last_look > 1; });
  if (gone.empty()) return;
  all.piece_count -= gone.size();
  all.index.fill(0);
  std::array<bool, most_rests + 1> is_held{};
  for (std::size_t i = 0; i < all.piece_count; ++i) {
    std::size_t place = all.pieces[i].inode % all.index.size();
    while (all.index[place] != 0) place = (place + 1) % all.index.size();
    all.index[place] = static_cast<std::uint16_t>(i + 1);
    is_held[all.pieces[i].rest] = true;
  }
  for (std::size_t i = 0; i < most_rests; ++i) {
    if (!is_held[i]) all.rests[i] = 0;
  }
}

}  // namespace cloche::warden

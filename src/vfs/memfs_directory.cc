// SPDX-License-Identifier: Apache-2.0
#include "vfs/memfs_directory.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace cloche::vfs::memfs {
namespace {

constexpr std::size_t linear_max = 16;  // so many entries are searched without an index

// Seeded, so that a guest cannot choose names that collide.
std::uint64_t hash_seed() {
  static const std::uint64_t seed = [] {
    std::uint64_t value = 0x9e3779b97f4a7c15u;
    if (::getrandom(&value, sizeof value, GRND_NONBLOCK) < 0) value ^= 0x51ed270b;
    return value;
  }();
  return seed;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint32_t hash_of(std::string_view name) {
  std::uint64_t h = hash_seed() ^ name.size();
  std::size_t at = 0;
  for (; at + 8 <= name.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, name.data() + at, 8);
    h = mix(h ^ word, 0xa0761d6478bd642fu);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, name.data() + at, name.size() - at);
  h = mix(h ^ word, 0xe7037ed1a0b428dbu);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

std::size_t Directory::position(std::string_view name) const {
  const std::uint32_t hash = hash_of(name);
  const auto matches = [&](const Entry& e) {
    return e.hash == hash && e.ino != 0 && this->name(e) == name;
  };
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (matches(entries_[i])) return i;
    }
    return entries_.size();
  }
  const std::size_t mask = index_.size() - 1;
  for (std::size_t i = hash & mask; index_[i] != 0; i = (i + 1) & mask) {
    if (matches(entries_[index_[i] - 1])) return index_[i] - 1;
  }
  return entries_.size();
}

const Entry* Directory::find(std::string_view name) const {
  const std::size_t at = position(name);
  return at == entries_.size() ? nullptr : &entries_[at];
}

const Entry* Directory::next(std::uint64_t cookie) const {
  auto it = std::ranges::lower_bound(entries_, cookie, {}, &Entry::cookie);
  while (it != entries_.end() && it->ino == 0) ++it;
  return it == entries_.end() ? nullptr : &*it;
}

const Entry* Directory::at_cookie(std::uint64_t cookie) const {
  const auto it = std::ranges::lower_bound(entries_, cookie, {}, &Entry::cookie);
  return it != entries_.end() && it->cookie == cookie && it->ino != 0 ? &*it : nullptr;
}

bool Directory::has_room(std::size_t name_size) const {
  return names_.size() + name_size < std::numeric_limits<std::uint32_t>::max();
}

std::uint64_t Directory::add(std::string_view name, Entry entry) {
  CLOCHE_CHECK(!name.empty() && name.size() <= name_max && has_room(name.size()));
  entry.hash = hash_of(name);
  entry.cookie = next_cookie_++;
  entry.name_at = static_cast<std::uint32_t>(names_.size());
  entry.name_size = static_cast<std::uint8_t>(name.size());
  names_.append(name);
  entries_.push_back(entry);
  ++live_;
  if (!index_.empty() && (index_used_ + 1) * 2 <= index_.size()) {
    index_add(entries_.size() - 1);
  } else if (live_ > linear_max || !index_.empty()) {
    build_index();
  }
  return entry.cookie;
}

void Directory::remove(std::string_view name) {
  const std::size_t at = position(name);
  CLOCHE_CHECK(at != entries_.size());
  entries_[at].ino = 0;
  --live_;
  // A removed entry keeps its place for the binary search until there are more of them than names.
  if (entries_.size() > 2 * live_ + linear_max / 2) compact();
}

std::uint64_t Directory::replace(std::string_view name, Ino ino, FileType type, bool charged) {
  const std::size_t at = position(name);
  CLOCHE_CHECK(at != entries_.size());
  entries_[at].ino = ino;
  entries_[at].type = type;
  entries_[at].charged = charged;
  return entries_[at].cookie;
}

void Directory::compact() {
  std::vector<Entry> entries;
  std::string names;
  entries.reserve(live_);
  for (const Entry& old : entries_) {
    if (old.ino == 0) continue;
    Entry entry = old;
    entry.name_at = static_cast<std::uint32_t>(names.size());
    names.append(name(old));
    entries.push_back(entry);
  }
  entries_ = std::move(entries);
  names_ = std::move(names);
  if (live_ > linear_max) {
    build_index();
  } else {
    index_.clear();
    index_.shrink_to_fit();
    index_used_ = 0;
  }
}

void Directory::build_index() {
  std::size_t slots = 64;
  while (slots < live_ * 4) slots *= 2;
  index_.assign(slots, 0);
  index_used_ = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].ino != 0) index_add(i);
  }
}

void Directory::index_add(std::size_t position) {
  const std::size_t mask = index_.size() - 1;
  std::size_t i = entries_[position].hash & mask;
  while (index_[i] != 0) i = (i + 1) & mask;
  index_[i] = static_cast<std::uint32_t>(position + 1);
  ++index_used_;
}

}  // namespace cloche::vfs::memfs

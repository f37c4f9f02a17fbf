// SPDX-License-Identifier: Apache-2.0
// The lines of /proc/self/maps, for programs without a C library.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "native/caller/system.h"

namespace cloche::freeze {

struct Mapping {
  std::uint64_t begin, end, offset;
  const char* access;  // four letters
  const char* path;    // to the end of the line
  std::size_t path_size;
};

inline bool begins_with(const char* text, std::size_t size, const char* word) {
  for (std::size_t i = 0; word[i] != '\0'; ++i) {
    if (i == size || text[i] != word[i]) return false;
  }
  return true;
}

inline bool ends_with(const char* text, std::size_t size, const char* word) {
  std::size_t length = 0;
  while (word[length] != '\0') ++length;
  return size >= length && begins_with(text + size - length, length, word);
}

// A whole file of /proc; its size, or a negative errno. E2BIG: there is more than there is room
// for.
inline long read_whole(const char* path, char* to, std::size_t room) {
  const long file =
      caller::system_call(SYS_openat, AT_FDCWD, caller::address_of(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file;
  std::size_t size = 0;
  long got = 1;
  while (got > 0 && size < room) {
    got = caller::read(static_cast<int>(file), to + size, room - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  caller::system_call(SYS_close, file);
  if (got < 0) return got;
  return size == room ? -E2BIG : static_cast<long>(size);
}

class MapsReader {
 public:
  MapsReader(const char* text, std::size_t size) : at_(text), end_(text + size) {}

  bool next(Mapping& mapping) {
    if (at_ >= end_) return false;
    mapping.begin = number();
    mapping.end = number();
    mapping.access = at_;
    skip_word();
    mapping.offset = number();
    skip_word();  // the device
    skip_word();  // the inode
    while (at_ < end_ && *at_ == ' ') ++at_;
    mapping.path = at_;
    while (at_ < end_ && *at_ != '\n') ++at_;
    mapping.path_size = static_cast<std::size_t>(at_ - mapping.path);
    ++at_;
    return true;
  }

 private:
  // And the letter that ends it.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (; at_ < end_; ++at_) {
      const char c = *at_;
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<std::uint64_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
      } else {
        break;
      }
    }
    ++at_;
    return value;
  }
  void skip_word() {
    while (at_ < end_ && *at_ != ' ' && *at_ != '\n') ++at_;
    if (at_ < end_ && *at_ == ' ') ++at_;
  }

  const char* at_;
  const char* end_;
};

}  // namespace cloche::freeze

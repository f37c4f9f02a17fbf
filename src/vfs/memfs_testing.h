// SPDX-License-Identifier: Apache-2.0
// MemFsTest: a fixture with a small MemFs, a clock that steps one second a call, and short ways to
// make, write and read.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "vfs/memfs.h"

namespace cloche::vfs {

class StepClock final : public Clock {
 public:
  Timestamp now() override { return {++s_, 0}; }

 private:
  std::int64_t s_ = 1000;
};

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class MemFsTest : public ::testing::Test {
 protected:
  Ino make(MemFs& fs, std::string_view name, FileType type = FileType::regular, Ino dir = 1) {
    return *fs.create(dir, name, {.type = type, .mode = 0755, .uid = 1000, .gid = 1000});
  }
  Ino write(MemFs& fs, std::string_view name, std::string_view text, std::uint64_t at = 0) {
    const auto there = fs.lookup(1, name);
    const Ino ino = there ? *there : make(fs, name);
    EXPECT_EQ(*(*fs.open(ino, Access::write))->write(at, bytes(text)), text.size());
    return ino;
  }
  std::string read(MemFs& fs, Ino ino, std::size_t limit = 1 << 20) {
    std::string out(limit, '?');
    const auto n = (*fs.open(ino, Access::read))->read(0, std::as_writable_bytes(std::span(out)));
    out.resize(*n);
    return out;
  }

  StepClock clock_;
  TypedFsRef<MemFs> fs_ = make_fs<MemFs>(Quota{1 << 20, 100}, clock_);
};

}  // namespace cloche::vfs

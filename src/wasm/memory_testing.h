// SPDX-License-Identifier: Apache-2.0
// What tests of memory images look at: the whole memory of a guest, and one to begin lives of.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "wasm/instance.h"
#include "wasm/memory_image.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {

// At its size of now.
inline std::span<std::byte> memory_of(Instance& guest) {
  return *guest.memory().slice(0, guest.memory().size());
}
inline std::string content_of(Instance& guest) {
  const std::span<std::byte> all = memory_of(guest);
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

// Null, and a failed test, where it cannot be had.
inline std::shared_ptr<const MemoryImage> captured(Instance& guest) {
  auto image = MemoryImage::capture(guest);
  EXPECT_TRUE(image.ok());
  return image ? *image : nullptr;
}

// 4 MiB, which grow to 16: data near its beginning, nothing at its end.
inline constexpr std::string_view growing_guest = R"((module
  (memory (export "memory") 64 256)
  (data (i32.const 8192) "initial")
  (global $sp (export "__stack_pointer") (mut i32) (i32.const 1000))))";
inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint64_t wasm_page = 65536;

class LivesTest : public testing::Test {
 protected:
  std::unique_ptr<Instance> life(const std::shared_ptr<const MemoryImage>& image = nullptr,
                                 bool to_be_captured = false) {
    InstanceOptions options;
    options.image = image;
    options.to_be_captured = to_be_captured;
    return guests.make(module, options);
  }

  GuestMaker guests;
  // 2 MiB, with data that is mapped from a file and data in the middle of nothing.
  std::shared_ptr<const LinkedModule> module = guests.link(R"((module
  (memory (export "memory") 32 4096)
  (data (i32.const 8192) "initial")
  (data (i32.const 700000) "more")
  (global (export "__stack_pointer") (mut i32) (i32.const 1000))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))))");
};

}  // namespace cloche::wasm

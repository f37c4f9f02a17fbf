// SPDX-License-Identifier: Apache-2.0
// What tests of memory images look at: the whole memory of a guest.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "wasm/instance.h"
#include "wasm/memory_image.h"

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

}  // namespace cloche::wasm

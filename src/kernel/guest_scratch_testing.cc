// SPDX-License-Identifier: Apache-2.0
#include "kernel/guest_scratch_testing.h"

#include <gtest/gtest.h>

namespace cloche::kernel {

std::uint32_t GuestScratch::reserve(std::uint32_t bytes) {
  const std::uint32_t address = used_;
  used_ += (bytes + 7) & ~7u;
  EXPECT_LE(used_, memory_bytes_);
  return address;
}

std::string GuestScratch::text(std::uint32_t address, std::uint32_t bytes) const {
  const auto slice = memory().slice(address, bytes);
  EXPECT_TRUE(slice);
  return slice ? std::string(reinterpret_cast<const char*>(slice->data()), slice->size())
               : std::string();
}

}  // namespace cloche::kernel

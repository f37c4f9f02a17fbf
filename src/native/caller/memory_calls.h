// SPDX-License-Identifier: Apache-2.0
// What a compiler may call though nobody wrote it, for programs without a C library. Each of them
// includes this once.
#pragma once

#include <cstddef>

extern "C" {
__attribute__((visibility("hidden"))) void* memcpy(void* to, const void* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
__attribute__((visibility("hidden"))) void* memset(void* to, int value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) static_cast<char*>(to)[i] = static_cast<char>(value);
  return to;
}
}

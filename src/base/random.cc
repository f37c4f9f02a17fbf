// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/check.h"
#include "base/hex.h"

namespace cloche {

void fill_random(std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::getrandom(to.data(), to.size(), 0);
    CLOCHE_CHECK(got > 0 || errno == EINTR);
    if (got > 0) to = to.subspan(static_cast<std::size_t>(got));
  }
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::uint8_t> random(bytes);
  fill_random(std::as_writable_bytes(std::span(random)));
  return to_hex(random);
}

std::string uuid_of(std::array<std::uint8_t, 16> bytes) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = to_hex(bytes);
  for (const std::size_t dash : {8u, 13u, 18u, 23u}) text.insert(dash, 1, '-');
  return text;
}

std::string random_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  fill_random(std::as_writable_bytes(std::span(bytes)));
  return uuid_of(bytes);
}

}  // namespace cloche

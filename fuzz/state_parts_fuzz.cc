// SPDX-License-Identifier: Apache-2.0
// States of sandboxes that somebody brings (persistence.import) or a disk has kept: parts, each
// with the checksum that it should have, and the sandbox that is made of them. The first byte is
// the size of the pieces in which they come; a line "--" is between two parts.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/sha256.h"
#include "cloche/checkpoint.h"
#include "cloche/engine.h"
#include "pieces.h"

namespace {

using namespace cloche;

constexpr std::string_view between = "--\n";

Engine& engine() {
  static Engine one({});
  return one;
}

// Whether a reader takes the part, which comes in pieces of that size.
bool read_part(StateReader& reader, std::string_view input, std::size_t piece) {
  Sha256 digest;
  digest.add(input);
  const auto sum = digest.end();
  std::string part(input);
  part.append(reinterpret_cast<const char*>(sum.data()), sum.size());
  std::size_t at = 0;
  const auto read = reader.read([&](std::span<std::byte> to) -> Result<std::size_t> {
    const std::size_t count = std::min({to.size(), piece, part.size() - at});
    std::memcpy(to.data(), part.data() + at, count);
    at += count;
    return count;
  });
  CLOCHE_CHECK(read || !std::string_view(read.error().what()).empty());
  return static_cast<bool>(read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 16;
  if (size == 0 || size > most) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = data[0] == 0 ? most : data[0];
  SandboxOptions options;
  options.file_limit_bytes = 1 << 20;
  options.file_limit_inodes = 1000;
  StateReader reader(options, StateReader::Quota::of_options);
  for (bool goes_on = true; goes_on && !input.empty();) {
    goes_on = read_part(reader, fuzz::next_piece(input, between), piece);
    if (goes_on && input.empty()) (void)reader.make(engine());
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/environment_number.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/host_error.h"

namespace cloche::sandbox {

std::optional<std::uint64_t> environment_number(const char* name, std::uint64_t most,
                                                const char* is_none) {
  const char* const given = std::getenv(name);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const std::string_view text(given);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most)
    throw HostError(fmt::format("{}={} {}", name, text, is_none));
  return number;
}

}  // namespace cloche::sandbox

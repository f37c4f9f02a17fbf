// SPDX-License-Identifier: Apache-2.0
// Members of what an interpreter says, which may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "python/json_text.h"

namespace cloche::sandbox {

// Empty where there is none.
inline std::string text_at(const python::Json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// An integer, or nothing where there is none.
inline std::optional<int> integer_at(const python::Json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int>();
}

inline std::optional<std::uint64_t> count_at(const python::Json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

}  // namespace cloche::sandbox

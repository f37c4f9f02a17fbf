// SPDX-License-Identifier: Apache-2.0
// Numbers in what peers say. The library's own conversions take any number for any other: 1e30 as
// 16 bits is undefined behaviour.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace cloche::cluster {

// Throws the library's type_error, as for a text, where it is no whole number of this type.
template <typename Number, typename Json>
Number number_of(const Json& value) {
  static_assert(std::numeric_limits<Number>::is_integer && !std::numeric_limits<Number>::is_signed);
  const auto* number = value.template get_ptr<const typename Json::number_unsigned_t*>();
  if (number == nullptr || *number > std::numeric_limits<Number>::max())
    throw Json::type_error::create(302, "a whole number in its range is expected", &value);
  return static_cast<Number>(*number);
}

}  // namespace cloche::cluster

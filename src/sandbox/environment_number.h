// SPDX-License-Identifier: Apache-2.0
// Numbers that the host's environment gives.
#pragma once

#include <cstdint>
#include <optional>

namespace cloche::sandbox {

// That of the variable `name`; nothing where it is not set, or empty. Throws HostError, "NAME=TEXT
// `is_none`", where it is no number, or larger than `most`.
std::optional<std::uint64_t> environment_number(const char* name, std::uint64_t most,
                                                const char* is_none);

}  // namespace cloche::sandbox

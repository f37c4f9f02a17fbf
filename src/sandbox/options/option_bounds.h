// SPDX-License-Identifier: Apache-2.0
// What whoever asks for a sandbox may have of what an operator gives. One rule for all options:
//   - of an amount (memory, processes, connections) as much as the operator says, or less;
//   - of what opens something outside (the network, folders and files of the host, an engine) what
//     the operator has named; a denial of the operator stays;
//   - all else as it is asked for: it concerns that sandbox alone.
// The operator says what every sandbox is given, which is what it has where nobody asks for
// anything, and may grant more to those who ask.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cloche/sandbox.h"
#include "sandbox/options/sandbox_option.h"

namespace cloche::sandbox {

// One thing that may be asked for.
struct Grant {
  const SandboxOption* option = nullptr;
  SandboxOptions value;  // with that alone, beside what is so by default
};

// Whether it can be granted: whether there is a bound to it.
bool is_grantable(const SandboxOption& option);
// What a command line says, as for set_option.
Grant grant_of(const SandboxOption& option, std::string_view name, const std::string& text);

// What is done about a wish that is beyond the bounds.
enum class Beyond : std::uint8_t {
  refused,
  amounts_cut,  // to what there may be; all else is refused
  cut,          // and what may not be opened is left out
};

// What is usual, with what is wished (see read_options; other members are refused unless beyond
// wishes are cut). Throws WrongMember, and an Error of kind request, with EACCES for what is beyond
// the bounds.
SandboxOptions options_within(const SandboxOptions& usual, std::span<const Grant> grants,
                              const Json& wish, Beyond beyond);

}  // namespace cloche::sandbox

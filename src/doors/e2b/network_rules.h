// SPDX-License-Identifier: Apache-2.0
// What of the network a sandbox of this door gets: what its client names, as E2B's wire has it;
// where the operator has said what sessions may ask for (--allow-session-net), held to that by the
// one rule of all doors (sandbox/options/option_bounds.h). What the operator denies stays denied.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "cloche/sandbox.h"
#include "sandbox/options/option_bounds.h"

namespace cloche::e2b {

// As a client says it. "*" in a list is everything.
struct NetworkWish {
  OrderedJson given = OrderedJson::object();
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  bool allow_internet_access = true;
  std::optional<bool> allow_public_traffic;  // nothing: as it was, at first yes
  // The name by which servers inside are asked, `${PORT}` in it for their port; nothing: as it was,
  // at first the client's.
  std::optional<std::string> mask_request_host;
};

// Why it cannot be had: a sentence.
struct NetworkRefusal {
  std::string sentence;
};

// The rules that the sandbox gets; nothing: those that it would have anyway, as the wish says
// nothing of them. `usual`: what all sandboxes of this door have.
std::variant<std::optional<std::vector<std::string>>, NetworkRefusal> rules_within(
    const NetworkWish& wish, const SandboxOptions& usual, std::span<const sandbox::Grant> grants);

}  // namespace cloche::e2b

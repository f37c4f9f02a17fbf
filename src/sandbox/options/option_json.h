// SPDX-License-Identifier: Apache-2.0
// Options of a sandbox as JSON has them: the parameters of `create` in JSON-RPC, and the member
// `sandbox` of POST /sessions. The table of options says what there is.
#pragma once

#include "base/json.h"
#include "base/json_members.h"
#include "cloche/sandbox.h"

namespace cloche::sandbox {

// Names that no option has: refused everywhere; in limits, network, mounts and secrets alone; or
// nowhere.
enum class OtherMembers : std::uint8_t { refused, refused_within, left_alone };

// What is said is added to what is there, and stands where there can be only one. A word on the
// network replaces the rules that allow: a list of rules, an object with everything, or false for
// none.
//
// Nothing of the host is looked at. Throws WrongMember for a name that no option has (where others
// are refused), and for a value of another type or unit; an Error of kind request for a word that
// is none.
void read_options(const Json& given, SandboxOptions& options, OtherMembers others);

// The members of `given` that are options.
Json option_members(const Json& given);

}  // namespace cloche::sandbox

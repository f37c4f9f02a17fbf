// SPDX-License-Identifier: Apache-2.0
// The parameters of a request, each read by name and type. A WrongMember is an error
// invalid_params.
#pragma once

#include "base/json_members.h"
#include "doors/rpc/protocol.h"

namespace cloche::rpc {

using Params = JsonMembers;

}  // namespace cloche::rpc

// SPDX-License-Identifier: Apache-2.0
// What a server takes and is, as `stats` tells it.
#pragma once

#include "doors/remote/parts.h"
#include "doors/rpc/protocol.h"

namespace cloche::remote {

rpc::Reply server_usage(const Parts& parts);

}  // namespace cloche::remote

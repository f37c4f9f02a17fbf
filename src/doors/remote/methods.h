// SPDX-License-Identifier: Apache-2.0
// What a server's WebSocket has beyond the methods of every connection, as one table.
// docs/websocket.md describes each; a test compares the two.
#pragma once

#include <chrono>
#include <string_view>

#include "doors/remote/client.h"
#include "doors/remote/session_subject.h"
#include "doors/rpc/methods.h"

namespace cloche::remote {

// Null when there is none of that name.
const rpc::Method* find_method(std::string_view name);

// The parameter `ttl`.
std::chrono::seconds ttl_of(const rpc::Params& params);

inline SessionBackend& backend_of(rpc::Call& call) {
  return static_cast<SessionBackend&>(call.connection.backend());
}
inline Client& client_of(rpc::Call& call) { return backend_of(call).client(); }
// Of the parameter `sessionId`; without it the sandbox that is meant. Throws RpcError.
std::shared_ptr<session::Session> session_of(rpc::Call& call);

namespace sessions {
rpc::Reply list(rpc::Call& call);
rpc::Reply pause(rpc::Call& call);
rpc::Reply resume(rpc::Call& call);
rpc::Reply remove(rpc::Call& call);
rpc::Reply extend(rpc::Call& call);
rpc::Reply fork(rpc::Call& call);
rpc::Reply processes(rpc::Call& call);
rpc::Reply signal(rpc::Call& call);
}  // namespace sessions

namespace terminals {
rpc::Reply open(rpc::Call& call);
rpc::Reply resize(rpc::Call& call);
rpc::Reply taken(rpc::Call& call);
rpc::Reply close(rpc::Call& call);
}  // namespace terminals

namespace watching {
rpc::Reply events(rpc::Call& call);
rpc::Reply stats(rpc::Call& call);
}  // namespace watching

}  // namespace cloche::remote

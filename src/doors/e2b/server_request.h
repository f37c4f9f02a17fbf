// SPDX-License-Identifier: Apache-2.0
// A client's request as a server inside a sandbox gets it: the last of its connection, and without
// what was meant for this door.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doors/http/body_end.h"
#include "doors/http/message.h"

namespace cloche::e2b {

struct ServerRequest {
  std::string text;  // the head
  // What follows it, as the client sends it.
  http::BodyEnd body = http::BodyEnd::after(0);
  bool wants_continue = false;  // the client sends no body before it is told to
  // It asks for a WebSocket: where the server agrees, bytes go both ways from then on.
  bool asks_for_web_socket = false;
};

// What stands for the server's port in a name by which it is asked.
inline constexpr std::string_view port_in_host = "${PORT}";

// Nothing for a target that is no path. `host` is the name by which the server is asked; empty: the
// client's.
std::optional<ServerRequest> request_for_server(const http::Request& request,
                                                std::string_view host = {});

}  // namespace cloche::e2b

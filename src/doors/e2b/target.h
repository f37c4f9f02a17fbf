// SPDX-License-Identifier: Apache-2.0
// Whom a request of E2B's clients is for: a port of a sandbox, by the host's name or by headers;
// the files of whoever has signed the address; or the sandboxes of a key, by REST.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doors/http/message.h"

namespace cloche::e2b {

inline constexpr std::uint16_t agent_port = 49983;
inline constexpr std::uint16_t code_port = 49999;

struct Target {
  enum class Kind : std::uint8_t {
    none,  // not of this door
    rest,
    port,            // of the sandbox `id`
    signed_address,  // of the sandbox whose token the signature is of
    broken,          // only one of the two headers is there
  };
  Kind kind = Kind::none;
  std::string id;
  std::uint16_t port = 0;
};

Target target_of(const http::Request& head);
// By a name PORT-ID.anything alone; nothing for another one.
std::optional<Target> target_of_host(std::string_view host);

// 20 characters of [a-z0-9].
bool is_sandbox_id(std::string_view text);

// Of a query; the first of that name.
std::optional<std::string> query_value(const http::Request& request, std::string_view name);

}  // namespace cloche::e2b

// SPDX-License-Identifier: Apache-2.0
// What peers ask about the keys of a cell: PUT /cell/keys/KEY, to have it from now on with all its
// sessions; DELETE /cell/keys/KEY, to give it up. And `cloche cells`, which asks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/router.h"
#include "doors/http/message.h"
#include "session/cell_key.h"

namespace cloche::serve {

enum class KeyRule : std::uint8_t { only_own, any };  // which keys a cell takes

bool is_key_path(std::string_view path);
// Waits for what runs in the sessions of a key that is given up, `?patience=SECONDS` (3) of them.
http::Response answer_key_request(const http::Request& request, cluster::Router& router,
                                  session::CellKey own, KeyRule rule);

// `cloche cells WORDS...`. The exit status.
int cells_command(const std::vector<std::string>& words);

}  // namespace cloche::serve

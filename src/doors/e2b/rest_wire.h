// SPDX-License-Identifier: Apache-2.0
// What comes in and goes out by REST: bodies read and checked, and sandboxes as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "doors/e2b/boxes.h"
#include "doors/http/message.h"

namespace cloche::e2b {

// {"code": STATUS, "message": TEXT}
http::Response rest_error(int status, std::string_view message);
// For an address that takes these methods and no other.
http::Response not_allowed(std::string_view methods);
http::Response no_content();

template <typename T>
using Checked = std::variant<T, http::Response>;

// An object; an empty body is an empty one.
Checked<Json> read_body(std::string_view body);
// A whole number of seconds from 0 to a day.
Checked<Seconds> read_seconds(const Json& body, const char* name, Seconds otherwise);
Checked<std::int64_t> read_count(const Json& body, const char* name, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise);
Checked<bool> read_truth(const Json& body, const char* name, bool otherwise);
Checked<std::string> read_text(const Json& body, const char* name);

Checked<BoxWish> read_create(std::string_view body, Seconds timeout);

// The members of `network`, and whether there is internet access, of a body.
Checked<NetworkWish> read_network(const Json& network, const Json& body);

struct ListQuery {
  std::map<std::string, std::string> metadata;
  bool running = true;
  bool paused = true;
  std::size_t limit = 100;
  std::uint64_t after = 0;  // of the sequence; 0: from the first on
  bool ascending = false;
  std::optional<std::int64_t> started_after_ms;
  std::string template_id;
};
Checked<ListQuery> read_list_query(std::string_view query);

// 2026-01-02T03:04:05.678Z
std::string utc_time(session::WallTime time);

// Of the agent that clients believe to talk to; they know by it what it can do.
std::string_view agent_version();

OrderedJson listed_json(const Box& box);
OrderedJson metrics_json(Box& box);

}  // namespace cloche::e2b

// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/protocol.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "cloche/version.h"

namespace cloche::mcp {
namespace {

constexpr std::array legacy_versions{newest_legacy_version, std::string_view("2025-06-18"),
                                     std::string_view("2025-03-26"),
                                     std::string_view("2024-11-05")};

}  // namespace

Reply supported_versions() {
  Reply versions = Reply::array({modern_version});
  for (const std::string_view version : legacy_versions) versions.push_back(version);
  return versions;
}

bool is_legacy_version(std::string_view version) {
  return std::ranges::find(legacy_versions, version) != legacy_versions.end();
}

Reply server_info() { return {{"name", "cloche"}, {"version", version}}; }

std::string shown(std::string_view text) {
  constexpr std::size_t most = 100;
  return valid_utf8(text.substr(0, most));
}

std::string response(const Reply& id, Reply result) {
  return write_json(Reply{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

std::string error_response(const Reply& id, const ProtocolError& error) {
  Reply body{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return write_json(Reply{{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}});
}

std::string notification(std::string_view method, Reply params) {
  return write_json(Reply{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

std::string server_request(std::string_view id, std::string_view method, Reply params) {
  return write_json(
      Reply{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
}

}  // namespace cloche::mcp

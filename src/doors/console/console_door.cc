// SPDX-License-Identifier: Apache-2.0
#include "doors/console/console_door.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_lookup.h"
#include "doors/console/console_assets.h"

namespace cloche::console {
namespace {

constexpr std::uint64_t body_max_bytes = 16 << 10;
// Tokens cannot be guessed by trying; this keeps somebody who tries from filling the log.
constexpr std::size_t failures_a_minute = 60;
constexpr std::string_view login_path = "/console/login";
constexpr std::string_view logout_path = "/console/logout";

// xterm sets attributes of style; everything else is the page's own.
constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

http::Response error(int status, std::string_view sentence) {
  return http::json_response(status, write_json(Json{{"error", std::string(sentence)}}));
}

http::Response asset_response(const http::Asset& asset) {
  http::Response response{200, {}, std::string(asset.content)};
  response.fields = {
      {"Content-Type", std::string(asset.type)},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy", policy},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", asset.is_immutable ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (asset.is_compressed) response.fields.emplace_back("Content-Encoding", "gzip");
  return response;
}

}  // namespace

bool ConsoleDoor::is_own(std::string_view path) {
  return path == "/console" || path.starts_with("/console/");
}

http::Admission ConsoleDoor::admit(const http::Request& head) {
  const bool only_reads = head.method == "GET" || head.method == "HEAD";
  if (only_reads && find_asset(head.path)) return {1024};
  const bool is_known = head.path == login_path || (head.path == logout_path && !only_reads);
  if (!is_known) return {0, error(404, "there is no such page: the console is at /console")};
  if (!only_reads && head.method != "POST") {
    const char* const methods = head.path == logout_path ? "POST" : "GET, HEAD, POST";
    return {0, http::with_allow(error(405, "send it by POST"), methods)};
  }
  // Only the console's own page asks here.
  const auto fault = parts_.tokens.empty() ? parts_.guard.fault(head, http::OriginGuard::Body::json)
                                           : parts_.guard.page_fault(head);
  if (fault) return {0, error(fault->status, fault->sentence)};
  return {body_max_bytes};
}

http::Response ConsoleDoor::answer(const http::Request& request) {
  const bool only_reads = request.method == "GET" || request.method == "HEAD";
  if (only_reads) {
    if (const http::Asset* asset = find_asset(request.path)) return asset_response(*asset);
    const bool needs_token = !parts_.tokens.empty();
    const bool is_in = !needs_token || parts_.logins.owner_of(request).has_value();
    http::Response told = http::json_response(
        200, fmt::format(R"({{"tokens":{},"loggedIn":{}}})", needs_token, is_in));
    told.fields.emplace_back("Cache-Control", "no-store");
    return told;
  }
  if (request.path == login_path) return log_in(request);
  http::Response forgotten{204, {{"Set-Cookie", parts_.logins.log_out(request)}}, {}};
  return forgotten;
}

bool ConsoleDoor::may_fail() {
  const auto now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  while (!failures_.empty() && now - failures_.front() > std::chrono::minutes(1))
    failures_.pop_front();
  if (failures_.size() == failures_a_minute) return false;
  failures_.push_back(now);
  return true;
}

http::Response ConsoleDoor::log_in(const http::Request& request) {
  const std::optional<Json> body = parse_json(request.body);
  const std::string* token = body ? find_text(*body, "token") : nullptr;
  if (token == nullptr) return error(400, "the body must be {\"token\": ...}");
  if (auto cookie = parts_.logins.log_in(*token, request.secure))
    return {204, {{"Set-Cookie", *std::move(cookie)}}, {}};
  // A good token is taken whatever others try.
  return may_fail() ? error(401, "this token is not known here")
                    : error(429, "too many wrong tokens: wait a minute");
}

}  // namespace cloche::console

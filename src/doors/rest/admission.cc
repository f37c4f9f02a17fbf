// SPDX-License-Identifier: Apache-2.0
// Who may ask the REST door, and how many bytes they may send: judged by a request's head, before a
// byte of its body is read. An upload may have what a session may have, any other body little.
#include <algorithm>

#include "base/base64.h"
#include "doors/rest/replies.h"
#include "doors/rest/rest_door.h"

namespace cloche::rest {
namespace {

constexpr std::uint64_t unread_body_max_bytes = 1024;  // of pages that want none
constexpr std::uint64_t body_max_bytes = 4ULL << 20;
// Around the file in a form.
constexpr std::uint64_t multipart_extra_bytes = 64 << 10;

// What clients of proxies send: "Basic", and NAME:PASSWORD in base64. The password is the token,
// and the name does not matter; empty for anything else.
std::string basic_password(std::string_view header) {
  constexpr std::string_view scheme = "Basic ";
  constexpr std::size_t text_max_bytes = 8192;
  if (header.size() <= scheme.size() || header.size() > text_max_bytes ||
      !http::same_text(header.substr(0, scheme.size()), scheme))
    return {};
  header.remove_prefix(scheme.size());
  const std::string text = from_base64(header).value_or(std::string());
  const std::size_t colon = text.find(':');
  return colon == text.npos ? std::string() : text.substr(colon + 1);
}

}  // namespace

std::optional<RestDoor::SessionPath> RestDoor::session_path(const std::string& path) {
  static constexpr std::string_view folder = "/sessions/";
  if (!path.starts_with(folder)) return std::nullopt;
  const std::string rest = path.substr(folder.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  SessionPath found{http::percent_decode(rest.substr(0, slash)),
                    rest.substr(std::min(slash + 1, rest.size()))};
  return found.id.empty() ? std::nullopt : std::optional(std::move(found));
}

std::optional<std::string> RestDoor::owner_of(const http::Request& request) const {
  std::optional<std::string> owner = parts_.tokens.owner_of_header(request.field("Authorization"));
  if (owner || request.method != "CONNECT") return owner;
  const std::string_view field = request.field("Proxy-Authorization");
  owner = parts_.tokens.owner_of_header(field);
  if (!owner) owner = parts_.tokens.owner_of(basic_password(field));
  return owner;
}

http::Admission RestDoor::admit(const http::Request& head, const std::string& path) {
  if (path == "/health" || path == "/ready" || path == "/metrics" || path == "/openapi.json")
    return {unread_body_max_bytes};
  std::optional<std::string> owner = owner_of(head);
  if (!owner) {
    if (head.method == "CONNECT")
      return {0, http::text_response(401, "a bearer token is required\n")};
    return {0, unauthorized()};
  }
  const std::optional<SessionPath> session = session_path(path);
  const bool is_upload = session && session->action == "files" && head.method == "POST";
  return {
      .body_limit_bytes = is_upload ? limits_.upload_bytes + multipart_extra_bytes : body_max_bytes,
      .owner = *std::move(owner)};
}

http::Response RestDoor::reject(int status, std::string_view reason) const {
  const std::string_view code = status >= 500   ? "INTERNAL_ERROR"
                                : status == 403 ? "FORBIDDEN"
                                                : "INVALID_REQUEST";
  return error(status, code, reason);
}

bool RestDoor::is_public(std::string_view path) {
  return path == "/health" || path == "/ready" || path == "/openapi.json";
}

}  // namespace cloche::rest

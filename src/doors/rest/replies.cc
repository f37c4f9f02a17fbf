// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/replies.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/error.h"
#include "base/hex.h"
#include "base/json_string.h"
#include "base/random.h"
#include "doors/http/body_source.h"
#include "doors/http/date.h"
#include "doors/http/log.h"

namespace cloche::rest {
namespace {

using http::figures_json;
using http::iso_timestamp;

std::string request_id() { return "req-" + random_hex(8); }

std::string_view name_of(session::Status status) {
  if (status == session::Status::failed) return "failed";
  return status == session::Status::paused ? "paused" : "running";
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::directory: return "directory";
    case FileKind::symlink: return "symlink";
    default: return "file";
  }
}

std::string permissions(std::uint32_t mode) {
  std::string text = "rwxrwxrwx";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((mode >> (text.size() - 1 - i) & 1) == 0) text[i] = '-';
  }
  return text;
}

std::string timestamp_of(std::int64_t ns) {
  return iso_timestamp(std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::nanoseconds(ns))));
}

int save_status(Errno why) { return door_codes(ErrorKind::host, why).http; }

// The result's JSON between two texts.
http::Response result_within(int status, std::string_view before, RunResult result,
                             std::string_view after) {
  const bool timed_out = result.status == RunStatus::timed_out;
  if (result.status == RunStatus::not_started) result.stderr_data += result.reason + "\n";
  const std::string start = fmt::format(R"({}{{"status":"{}","exitCode":{},"stdout":)", before,
                                        timed_out               ? "timeout"
                                        : result.exit_code == 0 ? "completed"
                                                                : "failed",
                                        timed_out ? "null" : std::to_string(result.exit_code));
  return http::output_response(
      status, start, std::move(result.stdout_data), R"(,"stderr":)", std::move(result.stderr_data),
      fmt::format("{}{}{}}}{}", figures_json(result.figures),
                  result.stdout_truncated ? R"(,"stdoutTruncated":true)" : "",
                  result.stderr_truncated ? R"(,"stderrTruncated":true)" : "", after));
}

// `details`: JSON, or empty.
http::Response error_with(int status, std::string_view code, std::string_view message,
                          std::string_view details) {
  return http::json_response(
      status, fmt::format(R"({{"error":"{}","message":{}{}{},"timestamp":"{}","requestId":"{}"}})",
                          code, json_string(message), details.empty() ? "" : R"(,"details":)",
                          details, iso_timestamp(std::chrono::system_clock::now()), request_id()));
}

}  // namespace

http::Response error(int status, std::string_view code, std::string_view message) {
  return error_with(status, code, message, {});
}

http::Response no_session() { return error(404, "SESSION_NOT_FOUND", "there is no such session"); }

http::Response ended_meanwhile(const session::Session& session) {
  if (session.status() == session::Status::closed) return no_session();
  return error(409, "INVALID_STATE",
               "the session was paused meanwhile, and nothing of this is in it: ask again");
}

http::Response unauthorized() {
  http::Response response =
      error(401, "UNAUTHORIZED", "a known bearer token is required: Authorization: Bearer TOKEN");
  response.fields.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

http::Response cell_full(std::string_view message) {
  http::Response response = error(503, "CELL_FULL", message);
  response.fields.emplace_back("Retry-After", "2");
  return response;
}

http::Response wrong_cell(session::CellKey cell) {
  http::Response response =
      error(421, "WRONG_CELL", fmt::format("this session belongs to cell {}: ask that one", cell));
  response.fields.emplace_back("X-Cloche-Cell", std::to_string(cell));
  return response;
}

http::Response not_ready(std::string_view reason) {
  return http::json_response(
      503, fmt::format(R"({{"status":"not ready","reason":{}}})", json_string(reason)));
}

http::Response not_saved(Errno why, std::string_view what, std::string_view answer) {
  const ErrnoInfo& info = errno_info(why);
  std::string details = fmt::format(R"({{"reason":"NOT_SAVED","errno":"{}")", info.name);
  if (!answer.empty()) details += fmt::format(R"(,"answer":{})", answer);
  return error_with(save_status(why), "INTERNAL_ERROR", fmt::format("{}: {}", what, info.message),
                    details + "}");
}

http::Response rate_limited(const RateLimiter::Verdict& verdict, std::string_view message) {
  http::Response response = error(429, "RATE_LIMITED", message);
  response.fields.emplace_back("X-RateLimit-Limit", std::to_string(verdict.limit));
  response.fields.emplace_back("X-RateLimit-Remaining", std::to_string(verdict.remaining));
  response.fields.emplace_back("X-RateLimit-Reset", std::to_string(verdict.reset_s));
  return response;
}

http::Response file_error(Errno code, std::string_view path) {
  const ErrnoInfo& info = errno_info(code);
  const std::string message = fmt::format("{}: {}", path, info.message);
  int status = info.http;
  // Where the API has fewer statuses than the table.
  if (code == Errno::notdir) status = 404;
  if (status == 507) status = 413;
  switch (status) {
    case 403: return error(status, "FORBIDDEN", message);
    case 409: return error(status, "INVALID_STATE", message);
    case 413: return error(status, "INVALID_REQUEST", message);
    case 404: return error(status, "INVALID_PARAMETER", message);
    default: break;
  }
  if (status >= 500) return error(500, "INTERNAL_ERROR", message);
  return error(400, "INVALID_PARAMETER", message);
}

std::string session_json(const session::Session& session) {
  const session::Facts& facts = session.facts();
  const session::Status status = session.status();
  const std::string reason = status == session::Status::failed
                                 ? fmt::format(R"("reason":{},)", json_string(session.trouble()))
                                 : std::string();
  return fmt::format(
      R"({{"sessionId":"{}","status":"{}",{}"createdAt":"{}","expiresAt":"{}","lastActivityAt":"{}","metadata":{},"image":{}}})",
      facts.id, name_of(status), reason, iso_timestamp(facts.created),
      iso_timestamp(session.expires()), iso_timestamp(session.last_activity()), facts.metadata,
      json_string(facts.image));
}

http::Response result_response(RunResult result) {
  return result_within(200, {}, std::move(result), {});
}

http::Response result_not_saved(Errno why, RunResult result) {
  const ErrnoInfo& info = errno_info(why);
  const std::string message = fmt::format("what was run is not saved: {}", info.message);
  return result_within(
      save_status(why),
      fmt::format(
          R"({{"error":"INTERNAL_ERROR","message":{},"timestamp":"{}","requestId":"{}","details":{{"reason":"NOT_SAVED","errno":"{}","answer":)",
          json_string(message), iso_timestamp(std::chrono::system_clock::now()), request_id(),
          info.name),
      std::move(result), "}}");
}

std::string file_json(const FileInfo& info, std::string_view path, std::string_view checksum) {
  return fmt::format(
      R"({{"name":{},"path":{},"type":"{}","size":{},"permissions":"{}","createdAt":"{}","modifiedAt":"{}","checksum":"{}"}})",
      json_string(info.name), json_string(path), name_of(info.kind), info.size_bytes,
      permissions(info.mode), timestamp_of(info.created_ns), timestamp_of(info.modified_ns),
      checksum);
}

std::string md5_hex(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(content.data(), content.size(), digest.data(), &size, ::EVP_md5(), nullptr) != 1)
    return {};  // a host that forbids MD5
  return to_hex(std::span(digest).first(size));
}

}  // namespace cloche::rest

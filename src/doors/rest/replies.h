// SPDX-License-Identifier: Apache-2.0
// The bodies that the REST door answers with.
#pragma once

#include <string>
#include <string_view>

#include "cloche/files.h"
#include "cloche/run.h"
#include "doors/http/message.h"
#include "doors/rest/rate_limiter.h"
#include "session/session.h"

namespace cloche::rest {

// {"error": code, "message", "timestamp", "requestId"}.
http::Response error(int status, std::string_view code, std::string_view message);
// 429 with its three fields.
http::Response rate_limited(const RateLimiter::Verdict& verdict, std::string_view message);
// What a file operation that failed answers.
http::Response file_error(Errno code, std::string_view path);

std::string session_json(const session::Session& session);
http::Response result_response(RunResult result);
// `path` is absolute; `checksum` the MD5 of the content.
std::string file_json(const FileInfo& info, std::string_view path, std::string_view checksum);

std::string md5_hex(std::string_view content);

}  // namespace cloche::rest

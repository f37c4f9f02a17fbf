// SPDX-License-Identifier: Apache-2.0
// The bodies that the REST door answers with.
#pragma once

#include <string>
#include <string_view>

#include "cloche/files.h"
#include "cloche/run.h"
#include "doors/http/message.h"
#include "doors/rest/rate_limiter.h"
#include "session/cell_key.h"
#include "session/session.h"

namespace cloche::rest {

// {"error": code, "message", "timestamp", "requestId"}.
http::Response error(int status, std::string_view code, std::string_view message);
// 404: it has ended, or never was.
http::Response no_session();
// What was asked for is not in the session, which was paused or has ended before it was done.
http::Response ended_meanwhile(const session::Session& session);
// 401, with what is wanted.
http::Response unauthorized();
// 503 CELL_FULL: there is no room for a new session here, and may be in another cell at once, and
// here later.
http::Response cell_full(std::string_view message);
// 421: the session is another cell's.
http::Response wrong_cell(session::CellKey cell);
// 503 of GET /ready.
http::Response not_ready(std::string_view reason);
// 507, or 500: what was asked for is done, but would not survive the server. `answer`: JSON that
// would have been the body, or empty; it is in the details.
http::Response not_saved(Errno why, std::string_view what, std::string_view answer);
// 429 with its three fields.
http::Response rate_limited(const RateLimiter::Verdict& verdict, std::string_view message);
// What a file operation that failed answers.
http::Response file_error(Errno code, std::string_view path);

std::string session_json(const session::Session& session);
http::Response result_response(RunResult result);
// As not_saved, with the result in the details.
http::Response result_not_saved(Errno why, RunResult result);
// `path` is absolute; `checksum` the MD5 of the content.
std::string file_json(const FileInfo& info, std::string_view path, std::string_view checksum);

std::string md5_hex(std::string_view content);

}  // namespace cloche::rest

// SPDX-License-Identifier: Apache-2.0
// What the agent's calls have in common that are answered by a stream: one message in, how long the
// answer may take, and how often it says that it is still there.
#pragma once

#include <chrono>
#include <optional>

#include "doors/e2b/agent.h"

namespace cloche::e2b {

// The one message of a stream that the server answers with many.
CallResult<Json> only_message(const http::Request& request);
// After how long a silence something is said.
std::chrono::seconds silence_of(const http::Request& request);
// How long the call may take; absent: as long as it likes.
std::optional<std::chrono::milliseconds> time_limit_of(const http::Request& request);

// Answers with a stream that has nothing but that error.
void refuse_stream(const Call& call, const CallError& error);

}  // namespace cloche::e2b

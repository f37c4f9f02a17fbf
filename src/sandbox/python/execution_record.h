// SPDX-License-Identifier: Apache-2.0
// What a turn of a PythonSession comes to: an ExecuteResult from what the interpreter says of its
// end, which may be anything, and from what has stopped it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cloche/python_session.h"
#include "python/python_session.h"

namespace cloche::sandbox {

// Makes of a text one that may be shown.
using Scrub = std::function<std::string(std::string text)>;

// `text`: the interpreter's record, JSON, as _cloche/sessions has it. False where it cannot be
// read, which the result says.
bool read_record(std::string_view text, const python::TurnResult& turn,
                 const ExecuteOptions& options, const Scrub& scrub, ExecuteResult& result);

// `why` is not none; `timeout` the time that the turn had.
void set_stopped(python::StopReason why, const ExecuteOptions& options,
                 std::chrono::milliseconds timeout, ExecuteResult& result);

// Of code that was stopped before it could say so itself.
ExecutionError error_of_stop(python::StopReason why, const std::string& message);

}  // namespace cloche::sandbox

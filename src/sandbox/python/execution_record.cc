// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/execution_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "python/json_text.h"
#include "sandbox/python/record_fields.h"

namespace cloche::sandbox {
namespace {

using python::Json;

// An error that the code has raised, which may be one that a limit raises.
void set_error(ExecutionError error, ExecuteResult& result) {
  result.status = ExecuteStatus::error;
  if (error.type == "MemoryError") result.limit = Limit::memory;
  if (error.type == "CallbackLimitExceeded") result.limit = Limit::callbacks;
  if (error.type == "BudgetExceeded") result.limit = Limit::steps;
  if (result.limit != Limit::none) {
    result.status = ExecuteStatus::limit;
    result.reason = error.message.empty() ? "the memory of the session is used up" : error.message;
  }
  result.error = std::move(error);
}

}  // namespace

bool read_record(std::string_view text, const python::TurnResult& turn,
                 const ExecuteOptions& options, const Scrub& scrub, ExecuteResult& result) {
  const std::optional<Json> read = python::read_json(text);
  const Json record = read && read->is_object() ? *read : Json::object();
  const auto said = [&](const char* name) { return scrub(text_at(record, name)); };
  const std::string status = text_at(record, "status");
  // Code that went well says something that can be read, or nothing at all.
  const bool must_say = !text.empty() || turn.status == python::TurnStatus::raised;
  const bool is_clear = !status.empty() || !must_say || turn.stopped != python::StopReason::none;
  if (!is_clear) {
    result.status = ExecuteStatus::error;
    result.error = {
        "SystemError", "what the interpreter says of its end cannot be read", {}, std::nullopt};
  } else if (status == "error") {
    set_error({said("type"), said("message"), said("traceback"), integer_at(record, "line")},
              result);
  } else if (status == "exited") {
    result.status = ExecuteStatus::exited;
    if (const auto code = integer_at(record, "exit_code")) result.exit_code = *code;
  } else if (status == "ok") {
    result.result_repr = said("repr");
    if (record.contains("json")) result.result_json = said("json");
  }
  if (const auto dropped = count_at(record, "dropped")) result.trace_events_dropped = *dropped;
  if (const auto steps = count_at(record, "steps"); options.limits.steps != 0 && steps)
    result.steps = std::min(*steps, options.limits.steps);
  return is_clear;
}

void set_stopped(python::StopReason why, const ExecuteOptions& options,
                 std::chrono::milliseconds timeout, ExecuteResult& result) {
  result.status = ExecuteStatus::limit;
  switch (why) {
    case python::StopReason::cancelled:
      result.status = ExecuteStatus::cancelled;
      result.reason = "the execution was cancelled";
      break;
    case python::StopReason::time:
      result.limit = Limit::time;
      result.reason =
          fmt::format("the execution was stopped at its time limit of {} ms", timeout.count());
      break;
    case python::StopReason::cpu:
      result.limit = Limit::cpu_time;
      result.reason =
          fmt::format("the execution was stopped at its limit of {} ms of computing time",
                      options.limits.cpu_time.count());
      break;
    default:
      result.limit = Limit::output;
      result.reason = fmt::format("the execution was stopped at its limit of {} bytes of output",
                                  options.limits.output_bytes);
      break;
  }
}

// As the interpreter's _cloche/sessions/interrupts.py has it.
ExecutionError error_of_stop(python::StopReason why, const std::string& message) {
  ExecutionError error;
  switch (why) {
    case python::StopReason::cancelled: error.type = "ExecutionCancelled"; break;
    case python::StopReason::time: error.type = "TimeLimitExceeded"; break;
    case python::StopReason::cpu: error.type = "BudgetExceeded"; break;
    default: error.type = "OutputLimitExceeded"; break;
  }
  error.message = message;
  error.traceback = fmt::format("cloche.{}: {}\n", error.type, message);
  return error;
}

}  // namespace cloche::sandbox

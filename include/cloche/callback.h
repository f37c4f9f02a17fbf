// SPDX-License-Identifier: Apache-2.0
// Callbacks: functions of the host that the code of a PythonSession calls.
//
//   session.add_callback({.name = "get_time",
//                         .description = "The time of day.",
//                         .parameters_schema = R"({"properties": {"tz": {"type": "string"}}})",
//                         .handler = [](cloche::CallbackCall&) { return R"("12:00")"; }});
//
//   session.execute("print(await get_time(tz='UTC'))");
//
// Arguments and results are JSON texts. Arguments that do not satisfy the schema never reach the
// function: the code gets a TypeError.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// One call that is in progress. Thread-safe. The first answer counts; a later one, or one that
// comes when nobody waits any more, is dropped.
class CallbackCall {
 public:
  virtual ~CallbackCall() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& arguments() const = 0;  // a JSON object

  // The result, JSON.
  virtual void reply(std::string_view result_json) = 0;
  // An error: the code gets a cloche.CallbackError with this message, and `type` as its attribute.
  virtual void fail(std::string_view message, std::string_view type = {}) = 0;

  // Nobody waits for the answer any more: the code has cancelled the call, its time is over, the
  // execution was stopped, or the session has ended.
  virtual bool cancelled() const = 0;
  // Called once, when that happens, on whatever thread; at once where it has happened. It must be
  // quick and must not throw.
  virtual void on_cancel(std::function<void()> callback) = 0;
};

struct Callback {
  // Names with dots are namespaces: http.get is `await http.get(...)`.
  std::string name = {};
  std::string description = {};
  // JSON Schema of the arguments, an object; empty: anything goes.
  std::string parameters_schema = {};

  // Exactly one of both.
  //
  // Runs on a thread of the session, one of PythonSessionOptions::callback_threads; the result is
  // what it returns. What it throws is an error with that what(). It may answer by itself before.
  std::function<std::string(CallbackCall& call)> handler = {};
  // Begins the work and returns at once: it is called on the interpreter's thread. The answer comes
  // later, from any thread. It must not throw.
  std::function<void(std::shared_ptr<CallbackCall> call)> async_handler = {};

  // From the call to its answer; over it the code gets a cloche.CallbackTimeout. Absent: none.
  std::optional<std::chrono::milliseconds> timeout = {};
};

}  // namespace cloche

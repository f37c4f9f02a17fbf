// SPDX-License-Identifier: Apache-2.0
// python.execute: code in the sandbox's live interpreter, which can call the client back.
#include <fmt/format.h>

#include "base/base64.h"
#include "doors/rpc/json_reader.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/python_turn.h"
#include "doors/rpc/streamer.h"

namespace cloche::rpc::commands {
namespace {

constexpr std::size_t figure_limit = 64;
constexpr int status_timed_out = 124;
constexpr int status_killed = 137;

// Prints the figures that matplotlib holds, if it was imported at all, a line of base64 PNG each,
// and closes them. Leaves no name behind.
constexpr std::string_view figures_source = R"py(
def _cloche_figures():
    import sys
    pyplot = sys.modules.get('matplotlib.pyplot')
    if pyplot is None:
        return
    import base64, io
    for number in pyplot.get_fignums():
        target = io.BytesIO()
        pyplot.figure(number).savefig(target, format='png', bbox_inches='tight')
        print(base64.b64encode(target.getvalue()).decode())
    pyplot.close('all')
try:
    _cloche_figures()
finally:
    del _cloche_figures
)py";

Reply figures_of(PythonSession& python) {
  const ExecuteResult result = python.execute(figures_source);
  Reply images = Reply::array();
  std::string_view lines = result.stdout_data;
  while (!lines.empty() && images.size() < figure_limit) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    // The guest may print what it likes: only base64 goes on.
    if (const auto png = from_base64(lines.substr(0, end)); png && !png->empty())
      images.push_back({{"mimeType", "image/png"}, {"data", lines.substr(0, end)}});
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return images;
}

// A function of the client, under its name in the sandbox.
Callback callback_of(Call& call, const Json& given) {
  const Params params(given);
  Callback callback;
  callback.name = params.word("name");
  callback.description = params.optional_text("description").value_or("");
  if (const Json* schema = params.find("parametersSchema"))
    callback.parameters_schema = schema->dump();
  callback.timeout = params.optional_ms("timeoutMs");
  callback.async_handler = [&connection = call.connection, sandbox = call.queue->name(),
                            request = call.id](std::shared_ptr<CallbackCall> asked) {
    auto arguments = read_json(asked->arguments());
    if (const auto* error = std::get_if<RpcError>(&arguments))
      return asked->fail(error->message, "ValueError");
    const std::string id =
        connection.ask("callback.invoke",
                       {{"sandboxId", sandbox},
                        {"requestId", request},
                        {"name", asked->name()},
                        {"arguments", Reply(std::get<Json>(std::move(arguments)))}},
                       [asked](const Connection::Answer& answer) {
                         if (answer.ok) {
                           asked->reply(answer.text);
                         } else {
                           asked->fail(answer.text, answer.kind);
                         }
                       });
    if (!id.empty()) asked->on_cancel([&connection, id] { connection.forget(id); });
  };
  return callback;
}

// The client's functions, for one execution.
class Callbacks {
 public:
  Callbacks(Call& call, PythonSession& python) : python_(python) {
    for (const Json& given : call.params.objects("callbacks")) {
      Callback callback = callback_of(call, given);
      names_.push_back(callback.name);
      try {
        python_.add_callback(std::move(callback));
      } catch (const Error& problem) {
        names_.pop_back();
        remove();
        throw RpcError{code::invalid_params, problem.what()};
      }
    }
  }
  ~Callbacks() { remove(); }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

 private:
  void remove() {
    for (const std::string& name : names_) (void)python_.remove_callback(name);
    names_.clear();
  }

  PythonSession& python_;
  std::vector<std::string> names_;
};

int exit_code_of(const ExecuteResult& result) {
  switch (result.status) {
    case ExecuteStatus::ok: return 0;
    case ExecuteStatus::exited:
    case ExecuteStatus::ended: return result.exit_code;
    case ExecuteStatus::limit: return result.limit == Limit::time ? status_timed_out : 1;
    case ExecuteStatus::cancelled: return status_killed;
    case ExecuteStatus::error:
    case ExecuteStatus::busy: break;
  }
  return 1;
}

const char* name_of(const ExecuteResult& result) {
  switch (result.status) {
    case ExecuteStatus::limit: return result.limit == Limit::time ? "timedOut" : "limit";
    case ExecuteStatus::cancelled:
    case ExecuteStatus::ended: return "killed";
    default: return "exited";
  }
}

const char* outcome_of(ExecuteStatus status) {
  switch (status) {
    case ExecuteStatus::ok: return "ok";
    case ExecuteStatus::error: return "error";
    case ExecuteStatus::exited: return "exited";
    case ExecuteStatus::limit: return "limit";
    case ExecuteStatus::cancelled: return "cancelled";
    case ExecuteStatus::ended: return "ended";
    case ExecuteStatus::busy: return "busy";
  }
  return "ended";
}

Reply limit_of(Limit limit) {
  switch (limit) {
    case Limit::none: return nullptr;
    case Limit::time: return "time";
    case Limit::cpu_time: return "cpuTime";
    case Limit::steps: return "steps";
    case Limit::memory: return "memory";
    case Limit::callbacks: return "callbacks";
    case Limit::output: return "output";
  }
  return nullptr;
}

Reply reply_of(const ExecuteResult& result, const Params& params) {
  const bool base64 = wants_base64(params);
  const auto text = [&](const std::string& bytes) { return base64 ? to_base64(bytes) : bytes; };
  // As python3 prints it: what was raised, after what was written.
  const std::string raised =
      result.error && !params.flag("tracebackApart") ? result.error->traceback : std::string();
  Reply reply{{"exitCode", exit_code_of(result)},
              {"stdout", text(result.stdout_data)},
              {"stderr", text(result.stderr_data + raised)},
              {"executionTimeMs", milliseconds(result.duration)},
              {"result", result.result_repr ? Reply(*result.result_repr) : Reply(nullptr)},
              {"error", nullptr}};
  if (result.error) {
    reply["error"] = {{"type", result.error->type},
                      {"message", result.error->message},
                      {"line", result.error->line ? Reply(*result.error->line) : Reply(nullptr)}};
  }
  if (!params.flag("detail")) return reply;
  if (result.error) reply["error"]["traceback"] = result.error->traceback;
  reply["outcome"] = outcome_of(result.status);
  reply["limit"] = limit_of(result.limit);
  reply["resultJson"] = result.result_json ? Reply(*result.result_json) : Reply(nullptr);
  reply["callbackCount"] = result.callback_count;
  reply["traceEventsDropped"] = result.trace_events_dropped;
  reply["steps"] = result.steps ? Reply(*result.steps) : Reply(nullptr);
  reply["peakMemoryBytes"] =
      result.peak_memory_bytes ? Reply(*result.peak_memory_bytes) : Reply(nullptr);
  reply["status"] = name_of(result);
  reply["reason"] = result.reason;
  reply["sessionAlive"] = result.session_alive;
  reply["stdoutTruncated"] = result.stdout_truncated;
  reply["stderrTruncated"] = result.stderr_truncated;
  return reply;
}

ExecuteLimits limits_of(const Params& params) {
  ExecuteLimits limits;
  limits.timeout = params.optional_ms("timeoutMs");
  limits.cpu_time = params.optional_ms("cpuTimeMs").value_or(limits.cpu_time);
  limits.steps = params.optional_count("steps").value_or(limits.steps);
  limits.memory_bytes = params.optional_count("memoryBytes").value_or(limits.memory_bytes);
  limits.callbacks = params.optional_count("maxCallbacks").value_or(limits.callbacks);
  limits.output_bytes = output_limit(params);
  return limits;
}

OutputLimitAction output_action_of(const Params& params) {
  const std::string action = params.optional_text("onOutputLimit").value_or("drop");
  if (action != "drop" && action != "stop")
    throw RpcError{code::invalid_params, "'onOutputLimit' must be \"drop\" or \"stop\""};
  return action == "stop" ? OutputLimitAction::stop : OutputLimitAction::drop;
}

// The parameter `trace`: true, or an object that says what is traced.
TraceOptions trace_of(Call& call) {
  TraceOptions trace;
  const Json* given = call.params.find("trace");
  if (given == nullptr || (given->is_boolean() && !given->get<bool>())) return trace;
  if (given->is_object()) {
    const Params asked(*given);
    trace.files = asked.words("files");
    if (const auto rate =
            asked.optional_count("maxEventsPerSecond", {.least = 0, .most = UINT32_MAX}))
      trace.max_events_per_second = static_cast<std::uint32_t>(*rate);
    if (asked.find("values") != nullptr && !asked.flag("values"))
      trace.context = TraceOptions::Context::none;
  } else if (!given->is_boolean()) {
    throw RpcError{code::invalid_params, "'trace' must be true or an object"};
  }
  trace.sink = [&sink = call.connection.sink(), sandbox = call.queue->name(),
                request = call.id](const TraceEvent& event) {
    // The guest may say what it likes: only JSON goes on.
    auto said = read_json(event.event);
    if (!std::holds_alternative<Json>(said)) return;
    auto context = read_json(event.context.empty() ? "null" : event.context);
    if (!std::holds_alternative<Json>(context)) return;
    sink.send(Sink::Kind::notice,
              server_message("trace", {{"sandboxId", sandbox},
                                       {"requestId", request},
                                       {"line", event.line},
                                       {"event", Reply(std::get<Json>(std::move(said)))},
                                       {"context", Reply(std::get<Json>(std::move(context)))}}));
  };
  return trace;
}

}  // namespace

Reply python_execute(Call& call) {
  const std::string source = call.params.text("code");
  ExecuteOptions options{.limits = limits_of(call.params),
                         .on_output_limit = output_action_of(call.params),
                         .output = {},
                         .trace = trace_of(call)};
  const bool base64 = wants_base64(call.params);
  const bool figures = call.params.flag("figures");
  const bool stream = call.params.flag("stream");
  const LiveSandbox live = call.live();
  const PythonTurn turn(call);

  Streamer streamer(call, base64 ? Streamer::Encoding::base64 : Streamer::Encoding::utf8);
  if (stream) {
    options.output = [&streamer](Stream which, std::string_view data) {
      streamer.put(which, data);
    };
  }
  const Callbacks callbacks(call, *live.python);
  const ExecuteResult result = live.python->execute(source, options);
  if (stream) streamer.finish();
  Reply reply = reply_of(result, call.params);
  if (figures) {
    reply["figures"] = result.session_alive && !call.queue->is_cancelled()
                           ? figures_of(*live.python)
                           : Reply::array();
  }
  return reply;
}

}  // namespace cloche::rpc::commands

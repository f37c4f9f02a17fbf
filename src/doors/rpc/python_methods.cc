// SPDX-License-Identifier: Apache-2.0
// python.execute: code in the sandbox's live interpreter, which can call the client back.
#include <fmt/format.h>

#include "base/base64.h"
#include "doors/rpc/json_reader.h"
#include "doors/rpc/methods.h"
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
  callback.async_handler = [&connection = call.connection,
                            sandbox = call.queue->name()](std::shared_ptr<CallbackCall> asked) {
    auto arguments = read_json(asked->arguments());
    if (const auto* error = std::get_if<RpcError>(&arguments))
      return asked->fail(error->message, "ValueError");
    const std::string id =
        connection.ask("callback.invoke",
                       {{"sandboxId", sandbox},
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

Reply reply_of(const ExecuteResult& result, bool base64, bool detail) {
  const auto text = [&](const std::string& bytes) { return base64 ? to_base64(bytes) : bytes; };
  // As python3 prints it: what was raised, after what was written.
  const std::string raised = result.error ? result.error->traceback : std::string();
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
  if (!detail) return reply;
  reply["status"] = name_of(result);
  reply["reason"] = result.reason;
  reply["sessionAlive"] = result.session_alive;
  reply["stdoutTruncated"] = result.stdout_truncated;
  reply["stderrTruncated"] = result.stderr_truncated;
  return reply;
}

// Where several clients use one Python they take turns.
class PythonTurn {
 public:
  explicit PythonTurn(Call& call)
      : place_(call.place()), queue_(*call.queue), lock_(place_->python_turn(), std::defer_lock) {
    constexpr std::chrono::milliseconds look_again{20};
    while (!lock_.try_lock_for(look_again)) {
      if (queue_.is_cancelled())
        throw RpcError{code::sandbox_error, "ECANCELED: the request was cancelled"};
    }
    queue_.set_python_turn(true);
  }
  ~PythonTurn() { queue_.set_python_turn(false); }
  PythonTurn(const PythonTurn&) = delete;
  PythonTurn& operator=(const PythonTurn&) = delete;

 private:
  const std::shared_ptr<Place> place_;
  SandboxQueue& queue_;
  std::unique_lock<std::timed_mutex> lock_;
};

}  // namespace

Reply python_execute(Call& call) {
  const std::string source = call.params.text("code");
  ExecuteOptions options;
  options.limits.timeout = call.params.optional_ms("timeoutMs");
  options.limits.output_bytes = output_limit(call.params);
  options.limits.steps = call.params.optional_count("steps").value_or(0);
  const bool base64 = wants_base64(call.params);
  const bool detail = call.params.flag("detail");
  const bool figures = call.params.flag("figures");
  const bool stream = call.params.flag("stream");
  const LiveSandbox place = call.live();
  const PythonTurn turn(call);

  Streamer streamer(call, base64 ? Streamer::Encoding::base64 : Streamer::Encoding::utf8);
  if (stream) {
    options.output = [&streamer](Stream which, std::string_view data) {
      streamer.put(which, data);
    };
  }
  const Callbacks callbacks(call, *place.python);
  const ExecuteResult result = place.python->execute(source, options);
  if (stream) streamer.finish();
  Reply reply = reply_of(result, base64, detail);
  if (figures) {
    reply["figures"] = result.session_alive && !call.queue->is_cancelled()
                           ? figures_of(*place.python)
                           : Reply::array();
  }
  return reply;
}

}  // namespace cloche::rpc::commands

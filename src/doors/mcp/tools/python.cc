// SPDX-License-Identifier: Apache-2.0
// python: code in the interpreter that stays.
#include <fmt/format.h>

#include "base/mutex.h"
#include "base/utf8.h"
#include "doors/mcp/tools/bash.h"
#include "doors/mcp/tools/figures.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr double usual_timeout_s = 120;
constexpr std::chrono::milliseconds stop_again{5};

// Stops the interpreter when the call must stop. Code that was given to it but has not begun is
// not reached by one request, so it is told again until it has ended.
class Stopper {
 public:
  Stopper(Call& call, std::shared_ptr<PythonSession> python)
      : state_(std::make_shared<State>()),
        on_stop_(call.stop(),
                 [&pool = call.hub().pool(), state = state_, python = std::move(python)] {
                   pool.post([state, python] { state->stop(*python); });
                 }) {}
  ~Stopper() {
    const MutexLock lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

 private:
  struct State {
    Mutex mutex;
    Condition changed;
    bool ended GUARDED_BY(mutex) = false;

    void stop(PythonSession& python) {
      const MutexLock lock(mutex);
      while (!ended) {
        python.cancel();  // under the lock, so that the next execution has not begun
        changed.wait_for(mutex, stop_again, [this]() REQUIRES(mutex) { return ended; });
      }
    }
  };
  const std::shared_ptr<State> state_;
  std::stop_callback<std::function<void()>> on_stop_;
};

// The interpreter ends, and the next code has a new one.
void restart(PythonSession& python) {
  ExecuteOptions options;
  options.limits.timeout = std::chrono::seconds(10);
  (void)python.execute("__import__('os')._exit(0)", options);
}

Reply error_of(const ExecuteResult& result) {
  if (!result.error) return nullptr;
  return {{"type", valid_utf8(result.error->type)},
          {"message", valid_utf8(result.error->message)},
          {"line", result.error->line ? Reply(*result.error->line) : Reply(nullptr)},
          {"traceback", valid_utf8(result.error->traceback)}};
}

std::string ending_of(const ExecuteResult& result, bool timed_out) {
  const std::string lost = result.session_alive ? "" : " Python begins anew: its names are gone.";
  if (timed_out) {
    return fmt::format("[stopped after {} s: its time is over; say more with timeout_s.{}]",
                       seconds_text(result.duration), lost);
  }
  switch (result.status) {
    case ExecuteStatus::ok:
    case ExecuteStatus::error: return {};
    case ExecuteStatus::exited:
      return result.exit_code == 0 ? "" : fmt::format("[exit code {}]", result.exit_code);
    case ExecuteStatus::cancelled:
      return fmt::format("[stopped after {} s: the sandbox was deleted]",
                         seconds_text(result.duration));
    case ExecuteStatus::limit:
    case ExecuteStatus::ended:
    case ExecuteStatus::busy: break;
  }
  return fmt::format("[stopped after {} s: {}{}]", seconds_text(result.duration), result.reason,
                     lost);
}

ToolResult run_python(Call& call) {
  const LiveSandbox live = call.live();
  PythonSession& python = *live.python;
  if (call.arguments().flag("restart")) restart(python);
  const Files& files = live.sandbox->files();
  const std::vector<std::string> shown_before = shown_figures(files);

  Capture capture(call.progress());
  ExecuteOptions options;
  options.limits.timeout = timeout_of(call, usual_timeout_s);
  options.output = [&capture](Stream stream, std::string_view data) { capture.take(stream, data); };
  ExecuteResult ran;
  std::vector<std::string> figures;
  {
    const Stopper stopper(call, live.python);
    ran = python.execute(call.arguments().text("code"), options);
    if (ran.status == ExecuteStatus::busy)
      throw ToolError{"EBUSY: this sandbox's Python does something else: try again"};
    if (ran.session_alive && !call.stop().stop_requested())
      figures = collect_figures(python, shown_before);
  }
  const bool timed_out = ran.limit == Limit::time;
  const Written streams = written(*live.sandbox, capture.out(), capture.err());
  Written told = streams;  // as python3 prints it: what was raised, after what was written
  if (ran.error && !timed_out) add_part(told.err, valid_utf8(ran.error->traceback));

  ToolResult result;
  const std::string repr = valid_utf8(ran.result_repr.value_or(""));
  Written shown_repr = written(*live.sandbox, {repr, 0}, {});
  result.text = text_of(told, shown_repr.out, ending_of(ran, timed_out));
  result.is_error = timed_out || ran.status == ExecuteStatus::cancelled;
  const std::size_t count = add_figures(result.more, call.box().name(), files, figures);
  result.structured = {{"stdout", streams.out},
                       {"stderr", streams.err},
                       {"result", ran.result_repr ? Reply(shown_repr.out) : Reply(nullptr)},
                       {"error", error_of(ran)},
                       {"figures", count},
                       {"truncated", streams.truncated || shown_repr.truncated},
                       {"timed_out", timed_out},
                       {"duration_ms", milliseconds(ran.duration)}};
  return result;
}

}  // namespace

Tool python_tool() {
  Tool tool;
  tool.name = "python";
  tool.title = "Run Python";
  tool.description =
      "Runs code in the sandbox's live Python, with numpy, pandas, matplotlib and scikit-learn. "
      "Names and imports stay from call to call, and `await` works at the top. The result has "
      "what was printed, the value of the last expression, and of an exception its traceback; an "
      "exception is no error of the tool. Figures of matplotlib come back as pictures: call "
      "plt.show(), or leave them open. Files are those of the other tools; the folder is "
      "/workspace. Example: {\"code\": \"import pandas as pd\\ndf = "
      "pd.read_csv('data.csv')\\ndf.describe()\"}";
  tool.parameters = {
      {"code", Kind::text, "Python source; several lines are fine.", Need::required},
      {"timeout_s", Kind::number, "Over so many seconds it is stopped; names stay (120).",
       Need::optional, 0.1, 3600},
      {"restart", Kind::flag, "Begin with a new interpreter, without names."},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},
"result":{"type":["string","null"],"description":"repr of the last expression"},
"error":{"type":["object","null"],"properties":{"type":{"type":"string"},
"message":{"type":"string"},"line":{"type":["integer","null"]},"traceback":{"type":"string"}},
"required":["type","message","line","traceback"]},
"figures":{"type":"integer","description":"how many figures there are"},
"truncated":{"type":"boolean"},"timed_out":{"type":"boolean"},"duration_ms":{"type":"integer"}},
"required":["stdout","stderr","result","error","figures","truncated","timed_out","duration_ms"]})";
  tool.run = run_python;
  tool.lenient = "restart";
  return tool;
}

}  // namespace cloche::mcp

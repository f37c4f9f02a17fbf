// SPDX-License-Identifier: Apache-2.0
// bash: commands in the shell that stays, and in the background.
#include <fmt/format.h>

#include "base/utf8.h"
#include "doors/mcp/tools/bash.h"
#include "doors/mcp/tools/figures.h"
#include "doors/mcp/tools/shell.h"
#include "doors/mcp/tools/written.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr double usual_timeout_s = 120;

ToolResult start_in_background(Call& call) {
  const LiveSandbox live = call.live();
  RunOptions options;
  options.script = call.arguments().text("command");
  options.environment = shell_environment(*live.sandbox, call.stop());
  for (auto& [name, value] : call.arguments().word_map("env"))
    options.environment.insert_or_assign(name, value);
  options.cwd =
      call.arguments().optional_text("cwd").value_or(shell_folder(*live.sandbox, call.stop()));
  options.stdin_data = call.arguments().text("stdin");
  if (call.arguments().has("timeout_s")) options.timeout = timeout_of(call, usual_timeout_s);
  const std::string cwd = valid_utf8(options.cwd);
  const std::string id = call.box().processes()->start(live, std::move(options));
  return {.text = fmt::format("Started in the background as process {0}. Its output: the tool "
                              "process with action output and id {0}.",
                              id),
          .structured = {{"exit_code", nullptr},
                         {"stdout", ""},
                         {"stderr", ""},
                         {"truncated", false},
                         {"timed_out", false},
                         {"duration_ms", 0},
                         {"cwd", cwd},
                         {"process", id}}};
}

ToolResult run_bash(Call& call) {
  const Arguments& arguments = call.arguments();
  const LiveSandbox live = call.live();
  if (arguments.flag("restart")) live.sandbox->restart_shell();
  if (arguments.flag("background")) return start_in_background(call);

  ShellCommand command;
  command.script = arguments.text("command");
  command.cwd = arguments.text("cwd");
  command.environment = arguments.word_map("env");
  command.stdin_data = arguments.text("stdin");
  command.timeout = timeout_of(call, usual_timeout_s);
  if (command.script.empty() && arguments.flag("restart")) command.script = ":";
  ShellAnswer answer = run_in_shell(call, live, std::move(command));

  ToolResult result;
  result.text = text_of(answer.written, {}, answer.ending);
  result.is_error = answer.is_error;
  add_figures(result.more, call.box().name(), live.sandbox->files(), answer.figures);
  result.structured = {{"exit_code", answer.exit_code ? Reply(*answer.exit_code) : Reply(nullptr)},
                       {"stdout", answer.written.out},
                       {"stderr", answer.written.err},
                       {"truncated", answer.written.truncated},
                       {"timed_out", answer.timed_out},
                       {"duration_ms", milliseconds(answer.duration)},
                       {"cwd", valid_utf8(shell_folder(*live.sandbox, call.stop()))}};
  return result;
}

ToolResult run_trained_bash(Call& call) {
  const LiveSandbox live = call.live();
  const bool restart = call.arguments().flag("restart");
  if (restart) live.sandbox->restart_shell();
  ShellCommand command;
  command.script = call.arguments().text("command");
  command.timeout = timeout_of(call, usual_timeout_s);
  if (command.script.empty()) {
    if (restart) return {.text = "tool has been restarted."};
    throw ToolError{"the argument 'command' is missing: it must be a string"};
  }
  ShellAnswer answer = run_in_shell(call, live, std::move(command));
  ToolResult result;
  result.text = text_of(answer.written, {}, answer.ending);
  result.is_error = answer.is_error;
  add_figures(result.more, call.box().name(), live.sandbox->files(), answer.figures);
  return result;
}

}  // namespace

std::chrono::milliseconds timeout_of(const Call& call, double usual_s) {
  constexpr double ms_per_s = 1000;
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(call.arguments().number("timeout_s", usual_s) * ms_per_s));
}

ShellAnswer run_in_shell(Call& call, const LiveSandbox& live, ShellCommand command) {
  // A folder for one call: the shell goes back to its own.
  std::string own_folder;
  if (!command.cwd.empty()) own_folder = shell_folder(*live.sandbox, call.stop());

  Capture capture(call.progress());
  RunOptions options;
  options.shell = ShellState::kept;
  options.script = std::move(command.script);
  options.cwd = std::move(command.cwd);
  options.environment = std::move(command.environment);
  options.stdin_data = std::move(command.stdin_data);
  options.timeout = command.timeout;
  options.stop = call.stop();
  options.output = [&capture](Stream stream, std::string_view data) { capture.take(stream, data); };
  RunResult run = live.sandbox->run(options);
  if (!own_folder.empty()) set_shell_folder(*live.sandbox, own_folder, call.stop());

  ShellAnswer answer;
  answer.written = written(*live.sandbox, capture.out(), capture.err());
  answer.figures = std::move(run.figures);
  answer.duration = run.duration;
  switch (run.status) {
    case RunStatus::exited:
    case RunStatus::signaled:
      answer.exit_code = run.exit_code;
      if (run.exit_code != 0 || !run.reason.empty()) {
        answer.ending = fmt::format("[exit code {}{}{}]", run.exit_code,
                                    run.reason.empty() ? "" : ": ", run.reason);
      }
      break;
    case RunStatus::timed_out:
      answer.timed_out = answer.is_error = true;
      answer.ending = fmt::format(
          "[stopped after {} s: its time is over; say more with timeout_s, or start it with "
          "background]",
          seconds_text(run.duration));
      break;
    case RunStatus::killed:
      answer.is_error = true;
      answer.ending =
          fmt::format("[stopped after {} s: the sandbox was deleted]", seconds_text(run.duration));
      break;
    case RunStatus::not_started: throw ToolError{run.reason};
  }
  return answer;
}

Tool bash_tool() {
  Tool tool;
  tool.name = "bash";
  tool.title = "Run a command";
  tool.description =
      "Runs a command in the sandbox's bash, with the GNU tools, git, jq, ripgrep, sqlite3, node "
      "and python3. The shell stays from call to call: its folder, variables and functions are "
      "there for the next one, and `exit` ends only the command. The result has standard output, "
      "standard error and the exit code; a command that fails is no error of the tool. A stream "
      "over 30,000 characters is cut in the middle, and the whole is in a file that the result "
      "names. Example: {\"command\": \"cd /workspace && pytest -q 2>&1 | tail -20\", "
      "\"timeout_s\": "
      "300}. Start a server with background, and read what it writes with the tool process.";
  tool.parameters = {
      {"command", Kind::word, "What bash runs; several lines are fine.", Need::required},
      {"cwd", Kind::word, "The folder of this call alone. Without it where the shell is."},
      {"env", Kind::word_map, "Variables of this call alone, by name."},
      {"stdin", Kind::text, "What the command reads as standard input. Without it nothing."},
      {"timeout_s", Kind::number, "Over so many seconds it is ended, with all it started (120).",
       Need::optional, 0.1, 3600},
      {"background", Kind::flag,
       "Answer at once; the command goes on, in a shell of its own, and is a process for the tool "
       "process."},
      {"restart", Kind::flag, "Begin with a new shell: no variables, in /workspace."},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{
"exit_code":{"type":["integer","null"],"description":"null where it did not end by itself"},
"stdout":{"type":"string"},"stderr":{"type":"string"},
"truncated":{"type":"boolean","description":"a stream was cut"},
"timed_out":{"type":"boolean"},"duration_ms":{"type":"integer"},
"cwd":{"type":"string","description":"the shell's folder afterwards"},
"process":{"type":"string","description":"of a command in the background"}},
"required":["exit_code","stdout","stderr","truncated","timed_out","duration_ms","cwd"]})";
  tool.run = run_bash;
  tool.lenient = "restart";
  return tool;
}

Tool trained_bash_tool() {
  Tool tool;
  tool.name = "bash";
  tool.title = "Run a command";
  tool.description =
      "Runs a command in a bash session that stays: its folder and variables are there for the "
      "next call. Example: {\"command\": \"ls -la\"}. With restart the session begins anew.";
  tool.parameters = {{"command", Kind::word, "What bash runs."},
                     {"restart", Kind::flag, "Begin a new session."}};
  tool.run = run_trained_bash;
  return tool;
}

}  // namespace cloche::mcp

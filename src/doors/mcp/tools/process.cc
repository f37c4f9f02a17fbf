// SPDX-License-Identifier: Apache-2.0
// process: commands in the background.
#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"
#include "doors/mcp/tools/written.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

Reply reply_of(const Processes::Status& status) {
  return {{"id", status.id},
          {"command", valid_utf8(status.command)},
          {"running", status.running},
          {"exit_code", status.exit_code ? Reply(*status.exit_code) : Reply(nullptr)}};
}

std::string state_of(const Processes::Status& status) {
  if (status.running) return "running";
  return fmt::format("ended with exit code {}", status.exit_code.value_or(0));
}

// A command in one line.
std::string short_command(const Processes::Status& status) {
  constexpr std::size_t most = 100;
  std::string line = status.command.substr(0, std::min(status.command.find('\n'), most));
  if (line.size() < status.command.size()) line += " ...";
  return valid_utf8(line);
}

ToolResult told(const Processes::Status& status, std::string text) {
  return {.text = std::move(text), .structured = reply_of(status)};
}

ToolResult list(Call& call) {
  Reply all = Reply::array();
  std::string text;
  for (const Processes::Status& status : call.box().processes()->list()) {
    all.push_back(reply_of(status));
    add_part(text, fmt::format("{}  {}  {}", status.id, state_of(status), short_command(status)));
  }
  return {.text = text.empty() ? "(no processes in the background)" : text,
          .structured = {{"processes", std::move(all)}}};
}

ToolResult output(Call& call, const std::string& id) {
  constexpr double ms_per_s = 1000;
  const auto wait = std::chrono::milliseconds(
      static_cast<std::int64_t>(call.arguments().number("wait_s", 0) * ms_per_s));
  const LiveSandbox live = call.live();
  const Processes::Output taken = call.box().processes()->take_output(id, wait, call.stop());
  const Written text = written(*live.sandbox, {taken.out, 0}, {taken.err, 0});
  std::string ending = fmt::format("[process {} {}]", id, state_of(taken.status));
  if (taken.dropped_bytes > 0) {
    ending = fmt::format("[{} bytes of older output were dropped: nobody took them]\n{}",
                         taken.dropped_bytes, ending);
  }
  ToolResult result = told(taken.status, text_of(text, {}, ending));
  result.structured["stdout"] = text.out;
  result.structured["stderr"] = text.err;
  return result;
}

ToolResult run_process(Call& call) {
  const Arguments& arguments = call.arguments();
  const std::string action = arguments.text("action");
  if (action == "list") return list(call);
  const std::optional<std::string> id = arguments.optional_text("id");
  if (!id)
    throw ToolError{"the argument 'id' is missing: it must be that of a process, such as p1"};
  if (action == "output") return output(call, *id);
  const std::shared_ptr<Processes> processes = call.box().processes();
  if (action == "kill") {
    const Processes::Status status = processes->kill(*id);
    return told(status, fmt::format("[process {} {}]", *id, state_of(status)));
  }
  const std::string text = arguments.text("text");
  if (text.empty() && !arguments.flag("close_stdin"))
    throw ToolError{"the argument 'text' is missing: it is what the process is to read"};
  const Processes::Status status =
      processes->give_input(*id, text, arguments.flag("close_stdin"), call.stop());
  return told(status, fmt::format("[{} bytes given to process {}, which is {}]", text.size(), *id,
                                  state_of(status)));
}

}  // namespace

Tool process_tool() {
  Tool tool;
  tool.name = "process";
  tool.title = "Commands in the background";
  tool.description =
      "Commands that bash was given with background. `list` tells which there are; `output` takes "
      "what one has written since the last time, and waits for some with wait_s; `input` gives it "
      "text to read; `kill` ends it with all that it started. It does not wait for other calls. Of "
      "output that nobody takes the newest 1 MiB of each stream is kept. Example: {\"action\": "
      "\"output\", \"id\": \"p1\", \"wait_s\": 5}";
  tool.parameters = {
      {"action",
       Kind::choice,
       "What to do.",
       Need::required,
       0,
       0,
       {"list", "output", "input", "kill"}},
      {"id", Kind::word, "Of the process, as bash has told it: p1. For all but list."},
      {"text", Kind::text, "For input: what it reads; a line ends in a newline."},
      {"close_stdin", Kind::flag, "For input: nothing comes after it."},
      {"wait_s", Kind::number, "For output: wait so many seconds for some (0).", Need::optional,
       0.0, 60},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{
"processes":{"type":"array","description":"for list","items":{"type":"object","properties":{
"id":{"type":"string"},"command":{"type":"string"},"running":{"type":"boolean"},
"exit_code":{"type":["integer","null"]}},"required":["id","command","running","exit_code"]}},
"id":{"type":"string"},"command":{"type":"string"},"running":{"type":"boolean"},
"exit_code":{"type":["integer","null"]},
"stdout":{"type":"string","description":"for output: what is new"},"stderr":{"type":"string"}}})";
  tool.run = run_process;
  tool.order = Tool::Order::overtakes;
  return tool;
}

}  // namespace cloche::mcp

// SPDX-License-Identifier: Apache-2.0
// run, cancel, history.
#include <fmt/format.h>

#include "base/base64.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/streamer.h"

namespace cloche::rpc::commands {
namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Reply reply_of(const RunResult& result, bool base64, bool detail) {
  const auto text = [&](const std::string& bytes) { return base64 ? to_base64(bytes) : bytes; };
  Reply reply{{"exitCode", result.exit_code},
              {"stdout", text(result.stdout_data)},
              {"stderr", text(result.stderr_data)},
              {"executionTimeMs", milliseconds(result.duration)}};
  if (!detail) return reply;
  reply["status"] = name_of(result.status);
  reply["signal"] = result.signal;
  reply["reason"] = result.reason;
  reply["stdoutTruncated"] = result.stdout_truncated;
  reply["stderrTruncated"] = result.stderr_truncated;
  return reply;
}

// The figures that Python programs of the command have shown, from their files. One that is gone
// again, or too large to be a picture that somebody looks at, is left out.
Reply figures_of(Sandbox& sandbox, const RunResult& result) {
  constexpr std::size_t most = 64, most_bytes = std::size_t{16} << 20;
  Reply figures = Reply::array();
  for (const std::string& path : result.figures) {
    if (figures.size() == most) break;
    if (const auto png = sandbox.files().read(path, most_bytes))
      figures.push_back({{"path", path}, {"mimeType", "image/png"}, {"data", to_base64(*png)}});
  }
  return figures;
}

constexpr std::uint64_t highest_signal = 64;

// What a command that could not be started would have said.
void explain_start(RunResult& result) {
  if (result.status == RunStatus::not_started && result.stderr_data.empty())
    result.stderr_data = result.reason + "\n";
}

std::shared_ptr<LiveCommand> command_of(Call& call) {
  const auto number = call.params.optional_count("command");
  if (!number) throw RpcError{code::invalid_params, "'command' must be the number of a command"};
  if (auto command = call.connection.commands().find(*number)) return command;
  throw RpcError{code::sandbox_error,
                 fmt::format("ESRCH: there is no command {}, or it has ended", *number)};
}

Account account_of(const Params& params) {
  const std::string name = params.optional_text("account").value_or("user");
  if (name != "user" && name != "root")
    throw RpcError{code::invalid_params, "'account' must be \"user\" or \"root\""};
  return name == "root" ? Account::root : Account::user;
}

}  // namespace

const char* name_of(RunStatus status) {
  switch (status) {
    case RunStatus::exited: return "exited";
    case RunStatus::signaled: return "signaled";
    case RunStatus::timed_out: return "timedOut";
    case RunStatus::killed: return "killed";
    case RunStatus::not_started: return "notStarted";
  }
  return "exited";
}

Reply run(Call& call) {
  RunOptions options;
  options.script = call.params.word("command");
  options.shell = ShellState::kept;
  options.cwd = call.params.optional_word("cwd").value_or("");
  options.environment = call.params.word_map("env");
  options.stdin_data = call.params.optional_text("stdin").value_or("");
  if (call.params.find("stdinBase64") != nullptr)
    options.stdin_data = call.params.bytes("stdinBase64");
  options.timeout = call.params.optional_ms("timeoutMs");
  options.output_limit_bytes = output_limit(call.params);
  options.stop = call.queue->stop_token();
  const bool base64 = wants_base64(call.params);
  const bool detail = call.params.flag("detail");
  const bool stream = call.params.flag("stream");

  Streamer streamer(call, base64 ? Streamer::Encoding::base64 : Streamer::Encoding::utf8);
  if (stream) {
    options.output = [&streamer](Stream which, std::string_view data) {
      streamer.put(which, data);
    };
  }
  const std::int64_t started_ms = now_ms();
  const auto sandbox = call.sandbox();
  RunResult result = sandbox->run(options);
  if (stream) streamer.finish();
  explain_start(result);
  call.queue->remember({.command = std::move(options.script),
                        .exit_code = result.exit_code,
                        .started_ms = started_ms,
                        .duration_ms = milliseconds(result.duration)});
  Reply reply = reply_of(result, base64, detail);
  if (call.params.flag("figures")) reply["figures"] = figures_of(*sandbox, result);
  return reply;
}

// It runs in a shell of its own, beside what else the sandbox does.
Reply start(Call& call) {
  LiveRunOptions options;
  options.command.script = call.params.word("script");
  options.command.cwd = call.params.optional_word("cwd").value_or("");
  options.command.environment = call.params.word_map("env");
  options.command.timeout = call.params.optional_ms("timeoutMs");
  options.command.account = account_of(call.params);
  const std::shared_ptr<LiveCommand> command =
      call.connection.commands().add(call.live(), call.subject());
  // The client knows its number before it hears of it.
  call.after = [command, options = std::move(options)]() mutable {
    command->start(std::move(options));
  };
  return {{"command", command->number()}};
}

Reply write(Call& call) {
  must(command_of(call)->write(call.params.bytes("data")), "the command's input");
  return ok();
}

Reply end_input(Call& call) {
  command_of(call)->end_input();
  return ok();
}

Reply kill(Call& call) {
  const std::uint64_t signal =
      call.params.optional_count("signal", {.least = 0, .most = highest_signal}).value_or(9);
  must(command_of(call)->signal(static_cast<int>(signal)), fmt::format("signal {}", signal));
  return ok();
}

Reply cancel(Call& call) {
  const Json* id = call.params.find("id");
  if (id == nullptr) {
    call.queue->cancel_all();
    return ok();
  }
  const bool found = call.queue->cancel(Reply(*id).dump());
  return {{"ok", true}, {"cancelled", found}};
}

Reply history(Call& call) {
  Reply entries = Reply::array();
  for (const HistoryEntry& entry : call.queue->history()) {
    entries.push_back({{"index", entry.number},
                       {"command", entry.command},
                       {"exitCode", entry.exit_code},
                       {"timestamp", entry.started_ms},
                       {"executionTimeMs", entry.duration_ms}});
  }
  return {{"entries", std::move(entries)}};
}

Reply clear_history(Call& call) {
  call.queue->forget_history();
  return ok();
}

}  // namespace cloche::rpc::commands

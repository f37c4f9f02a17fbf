// SPDX-License-Identifier: Apache-2.0
// terminal.*, events.subscribe, stats.subscribe
#include <fmt/format.h>

#include <algorithm>

#include "doors/remote/methods.h"
#include "doors/remote/terminals.h"

namespace cloche::remote {
namespace {

using rpc::Call;
using rpc::Reply;
using rpc::RpcError;

constexpr Amounts stats_intervals_ms{.least = 250, .most = 60'000};
constexpr Amounts windows_bytes{.least = 64 << 10, .most = 16 << 20};

std::uint16_t side(const rpc::Params& params, const char* name, std::uint16_t usual) {
  return static_cast<std::uint16_t>(
      params.optional_count(name, {.least = 1, .most = 4096}).value_or(usual));
}

TerminalSize size_of(const rpc::Params& params) {
  return {.rows = side(params, "rows", 24), .columns = side(params, "cols", 80)};
}

RpcError no_terminal(std::uint64_t number) {
  return {rpc::code::sandbox_error, fmt::format("ENOENT: there is no terminal {}", number)};
}

std::shared_ptr<Terminal> terminal_of(Call& call, const char* name) {
  const auto number = call.params.optional_count(name);
  if (!number) {
    throw RpcError{rpc::code::invalid_params,
                   fmt::format("'{}' must be a terminal's number", name)};
  }
  const auto terminal = *number > UINT32_MAX
                            ? nullptr
                            : client_of(call).terminals().find(static_cast<std::uint32_t>(*number),
                                                               backend_of(call).owner());
  if (!terminal) throw no_terminal(*number);
  return terminal;
}

}  // namespace

namespace terminals {

Reply open(Call& call) {
  const std::shared_ptr<session::Session> session =
      static_cast<SessionSubject&>(*call.subject()).session();
  Client& client = client_of(call);
  const TerminalSize size = size_of(call.params);
  const auto window =
      static_cast<std::size_t>(call.params.optional_count("window", windows_bytes).value_or(0));
  if (call.params.find("attach") != nullptr) {
    const auto terminal = terminal_of(call, "attach");
    if (terminal->session() != session) throw no_terminal(terminal->number());
    call.after = [terminal, size, window, socket = client.socket()] {
      terminal->show(socket, window);
      terminal->resize(size);
    };
    return {{"terminal", terminal->number()}};
  }
  session::Session::Use sandbox = session::Session::use(session);
  if (!sandbox) {
    const std::string trouble = session->trouble();
    throw RpcError{rpc::code::sandbox_error,
                   trouble.empty() ? "EAGAIN: the session is not running" : "EIO: " + trouble};
  }
  LiveRunOptions options;
  options.terminal = size;
  options.command.script = call.params.optional_word("command").value_or("");
  options.command.cwd = call.params.optional_word("cwd").value_or("");
  options.command.environment = call.params.word_map("env");
  const auto terminal = client.terminals().open(backend_of(call).owner(), session,
                                                std::move(sandbox), client.socket(), window);
  call.after = [terminal, options = std::move(options)]() mutable {
    terminal->start(std::move(options));
  };
  return {{"terminal", terminal->number()}};
}

Reply resize(Call& call) {
  terminal_of(call, "terminal")->resize(size_of(call.params));
  return rpc::ok();
}

Reply taken(Call& call) {
  const auto terminal = terminal_of(call, "terminal");
  const auto bytes = call.params.optional_count("bytes").value_or(0);
  terminal->taken(client_of(call).socket().get(), static_cast<std::size_t>(bytes));
  return rpc::ok();
}

Reply close(Call& call) {
  client_of(call).terminals().close(terminal_of(call, "terminal")->number());
  return rpc::ok();
}

}  // namespace terminals

namespace watching {

Reply events(Call& call) {
  const std::string id = call.params.optional_word("sessionId").value_or("");
  if (!id.empty()) (void)find_session(backend_of(call), id);
  client_of(call).tell_events(id, call.params.optional_count("since").value_or(0));
  return rpc::ok();
}

Reply stats(Call& call) {
  client_of(call).tell_stats(
      call.params.optional_ms("intervalMs", stats_intervals_ms).value_or(std::chrono::seconds(1)));
  return rpc::ok();
}

}  // namespace watching
}  // namespace cloche::remote

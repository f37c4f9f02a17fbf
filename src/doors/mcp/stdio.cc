// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/stdio.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

#include "base/process_jail.h"
#include "doors/lines/input.h"
#include "doors/lines/output.h"
#include "doors/mcp/mount/mounted_tools.h"
#include "doors/mcp/peer.h"
#include "doors/mcp/subscriptions.h"

namespace cloche::mcp {
namespace {

using Clock = std::chrono::steady_clock;
using lines::Input;

constexpr std::chrono::milliseconds answer_time{800};  // after the end of input
constexpr std::chrono::milliseconds look_again{20};
constexpr std::size_t thread_limit = 512;

class Lines final : public Channel {
 public:
  explicit Lines(lines::Output& output) : output_(output) {}
  void send(std::string message) override { output_.send(std::move(message)); }
  void finish(std::string answer, int) override { output_.send(std::move(answer)); }
  void abandon() override {}

 private:
  lines::Output& output_;
};

void take_line(Peer& peer, const std::shared_ptr<Lines>& lines, std::string_view line) noexcept
    try {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  std::variant<Message, BadMessage> read = read_message(line);
  if (const auto* bad = std::get_if<BadMessage>(&read)) {
    lines->finish(error_response(bad->id, bad->error), bad->error.code);
  } else {
    peer.take(std::get<Message>(std::move(read)), lines);
  }
} catch (const std::exception& problem) {
  const ProtocolError error{code::internal_error, problem.what()};
  lines->finish(error_response(nullptr, error), error.code);
}

// Answers what has no answer yet, as long as somebody may read it.
void drain(const Peer& peer, const Input& input) {
  const auto deadline = Clock::now() + answer_time;
  while (!peer.wait_idle(Clock::now() + look_again)) {
    if (Clock::now() >= deadline || input.is_lost_within(0)) return;
  }
}

// Whether a sandbox can have the commands: names that it has already are told of before anybody asks
// for it. Throws Error.
void try_names(Engine& engine, const SandboxOptions& options) {
  try {
    (void)engine.create(options);
  } catch (const Error& problem) {
    if (problem != Errno::exist) throw;
    throw request_error(
        fmt::format("{}: a \"prefix\" of its tool server begins the names of all its commands",
                    problem.sentence()),
        problem.code());
  }
}

}  // namespace

void serve_stdio(const StdioOptions& options) {
  lines::Output output(options.out);
  Input input({.in = options.in,
               .out = options.out,
               .lost = output.lost(),
               .line_limit_bytes = message_limit_bytes});
  const auto lines = std::make_shared<Lines>(output);
  std::once_flag engine_once;
  std::unique_ptr<Engine> engine;
  const auto make_engine = [&]() -> Engine& {
    std::call_once(engine_once, [&] {
      engine = std::make_unique<Engine>(options.engine);
      hide_memory();
    });
    return *engine;
  };
  mount::MountedTools tools(options.tool_servers);
  HubOptions hub_options = options.hub;
  hub_options.sandbox.commands = tools.commands();
  if (!tools.commands().empty()) try_names(make_engine(), hub_options.sandbox);
  session::WorkerPool pool(thread_limit);
  Hub hub(std::move(hub_options), make_engine, pool);
  const std::shared_ptr<Space> space = hub.make_space();
  const auto peer =
      std::make_shared<Peer>(hub, Scope{space, space, std::make_shared<Subscriptions>(), {}});
  peer->set_events(lines);

  for (bool more = true; more && !output.gone();) {
    switch (input.next()) {
      case Input::Event::line: take_line(*peer, lines, input.line()); break;
      case Input::Event::too_long:
        lines->send(error_response(
            nullptr, {code::parse_error,
                      fmt::format("a line has more than {} bytes", message_limit_bytes)}));
        break;
      case Input::Event::end:
        peer->end_listening();
        drain(*peer, input);
        more = false;
        break;
      case Input::Event::lost: more = false; break;
    }
  }
  tools.end();
  // Sandboxes are of this process and end with it, whatever they do.
  std::_Exit(0);
}

}  // namespace cloche::mcp

// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/process_jail.h"
#include "doors/lines/input.h"
#include "doors/lines/output.h"
#include "doors/rpc/connection.h"
#include "doors/rpc/own_sandboxes.h"

namespace cloche::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using lines::Input;
using lines::Output;

// After the end of input: for requests that were sent before it, and then for what is cancelled.
constexpr std::chrono::milliseconds answer_time{2000};
constexpr std::chrono::milliseconds stop_time{1000};
constexpr std::chrono::milliseconds look_again{20};

class Lines final : public Sink {
 public:
  explicit Lines(Output& output) : output_(output) {}
  void send(Kind, std::string message) noexcept override { output_.send(std::move(message)); }
  void send_last(std::string message) noexcept override { output_.send_last(std::move(message)); }

 private:
  Output& output_;
};

std::unique_ptr<Engine> make_engine(const EngineOptions& given, Connection& connection) {
  EngineOptions options = given;
  options.progress = [progress = given.progress, &connection](std::string_view line) {
    if (progress) progress(line);
    connection.tell_progress(line);
  };
  auto engine = std::make_unique<Engine>(options);
  hide_memory();
  return engine;
}

// Answers what has no answer yet, as long as somebody may read it.
void drain(Connection& connection, const Input& input) {
  const auto deadline = Clock::now() + answer_time;
  while (!connection.wait_idle(Clock::now() + look_again)) {
    if (Clock::now() >= deadline || input.is_lost_within(0)) return;
  }
}

}  // namespace

int serve(const ServerOptions& options) {
  Output output(options.out);
  Input input({.in = options.in,
               .out = options.out,
               .lost = output.lost(),
               .parent_pid = options.parent_pid,
               .line_limit_bytes = line_limit_bytes});
  Lines lines(output);
  OwnSandboxes sandboxes(
      [&](Connection& made_for) { return make_engine(options.engine, made_for); });
  auto connection = std::make_unique<Connection>(lines, sandboxes);
  for (bool more = true; more && !connection->is_over() && !output.gone();) {
    switch (input.next()) {
      case Input::Event::line: connection->take(input.line()); break;
      case Input::Event::too_long:
        connection->refuse(
            {code::parse_error, fmt::format("a line has more than {} bytes", line_limit_bytes)});
        break;
      case Input::Event::end:
        drain(*connection, input);
        more = false;
        break;
      case Input::Event::lost: more = false; break;
    }
  }
  const bool asked = connection->is_over();
  if (!asked && input.is_lost_within(0)) output.close();
  if (!connection->stop(Clock::now() + stop_time)) std::_Exit(0);  // it compiles: that goes too
  return 0;
}

}  // namespace cloche::rpc

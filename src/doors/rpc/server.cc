// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/mutex.h"
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

// Ends the process where its end takes longer: a command that prints waits for its reader, and what
// ends the command for that.
class LastResort {
 public:
  explicit LastResort(std::chrono::milliseconds patience) {
    try {
      thread_ = std::thread([this, patience] {
        const MutexLock lock(mutex_);
        if (!changed_.wait_for(mutex_, patience, [this]() REQUIRES(mutex_) { return is_over_; }))
          std::_Exit(0);
      });
    } catch (const std::system_error&) {  // no thread for it: the end takes what it takes
    }
  }
  ~LastResort() {
    {
      const MutexLock lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

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
            {code::parse_error, fmt::format("a line has more than {} bytes", line_limit_bytes)},
            input.line());
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
  const LastResort last_resort(2 * stop_time);
  if (!connection->stop(Clock::now() + stop_time)) std::_Exit(0);  // it compiles: that goes too
  connection.reset();
  return 0;
}

}  // namespace cloche::rpc

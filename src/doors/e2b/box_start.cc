// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/box_start.h"

#include <fmt/format.h>

namespace cloche::e2b {
namespace {

constexpr std::chrono::seconds ready_time{20};

RunOptions run_for(const BoxStart& start, std::string script, const std::string& word) {
  RunOptions run;
  run.script = std::move(script);
  run.arguments = {"service", word};
  run.account = start.user == "root" ? Account::root : Account::user;
  run.cwd = start.workdir;
  run.timeout = ready_time;
  return run;
}

}  // namespace

std::optional<std::string> begin_service(Sandbox& sandbox, const BoxStart& start) {
  if (!start.start_command.empty()) {
    const RunResult begun =
        sandbox.run(run_for(start, R"(setsid bash -l -c "$1" </dev/null >/tmp/service.log 2>&1 &)",
                            start.start_command));
    if (begun.exit_code != 0)
      return fmt::format("the start command cannot be started: {}", begun.reason);
  }
  if (start.ready_command.empty()) return std::nullopt;
  const RunResult ready = sandbox.run(run_for(
      start, R"(until bash -l -c "$1" >/dev/null 2>&1; do sleep 0.05; done)", start.ready_command));
  if (ready.status == RunStatus::exited) return std::nullopt;
  return fmt::format("'{}' was not true within {} s of the start: /tmp/service.log says why",
                     start.ready_command, ready_time.count());
}

}  // namespace cloche::e2b

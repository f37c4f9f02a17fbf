// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/box_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace cloche::e2b {
namespace {

// By these a service is known again; those above are given to whoever asks for any.
constexpr int known_ports_end = 32768;
constexpr std::chrono::seconds look_time{20};
constexpr std::size_t ports_text_max = 1000;

RunOptions run_for(const BoxStart& start, std::string script, const std::string& word,
                   std::chrono::seconds patience) {
  RunOptions run;
  run.script = std::move(script);
  run.arguments = {"service", word};
  run.account = start.user == "root" ? Account::root : Account::user;
  run.cwd = start.workdir;
  run.timeout = patience;
  return run;
}

bool is_sleep(std::string_view command) {
  static constexpr std::string_view blanks = " \t\n";
  static constexpr std::string_view word = "sleep ";
  command.remove_prefix(std::min(command.find_first_not_of(blanks), command.size()));
  return command.starts_with(word) &&
         command.find_first_not_of("0123456789. \t\n", word.size()) == std::string_view::npos;
}

}  // namespace

std::optional<std::string> begin_service(Sandbox& sandbox, const BoxStart& start,
                                         std::chrono::seconds patience, std::stop_token stop) {
  if (!start.start_command.empty()) {
    const RunResult begun =
        sandbox.run(run_for(start, R"(setsid bash -l -c "$1" </dev/null >/tmp/service.log 2>&1 &)",
                            start.start_command, patience));
    if (begun.exit_code != 0)
      return fmt::format("the start command cannot be started: {}", begun.reason);
  }
  if (start.ready_command.empty()) return std::nullopt;
  RunOptions ready = run_for(start, R"(until bash -l -c "$1" >/dev/null 2>&1; do sleep 0.05; done)",
                             start.ready_command, patience);
  ready.stop = std::move(stop);
  if (sandbox.run(ready).status == RunStatus::exited) return std::nullopt;
  return fmt::format("'{}' was not true within {} s of the start: /tmp/service.log says why",
                     start.ready_command, patience.count());
}

BoxStart start_of_copies(Sandbox& sandbox, BoxStart start) {
  if (!is_sleep(start.ready_command)) return start;
  start.ready_command.clear();
  RunOptions look;
  look.script = R"(/usr/local/bin/ss -Hlt | while read -r _ _ _ _ address _; do
    port=${address##*:}
    [ "$port" -lt "$1" ] && echo "$port"
  done | sort -un | tr '\n' ' ')";
  look.arguments = {"ports", std::to_string(known_ports_end)};
  look.timeout = look_time;
  const std::string ports = sandbox.run(look).stdout_data;
  // What a guest says: it goes into a script of its copies, and is kept.
  const bool are_ports =
      ports.size() <= ports_text_max && ports.find_first_not_of("0123456789 ") == std::string::npos;
  if (are_ports && !ports.empty())
    start.ready_command = fmt::format(
        R"sh(for port in {}; do [ -n "$(/usr/local/bin/ss -Hlt sport = :$port)" ] || exit; done)sh",
        ports);
  return start;
}

}  // namespace cloche::e2b

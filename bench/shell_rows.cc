// SPDX-License-Identifier: Apache-2.0
#include "shell_rows.h"

#include <fmt/format.h>

#include <stdexcept>

namespace cloche::bench {
namespace {

RunResult kept(Sandbox& sandbox, const std::string& script) {
  RunResult result = sandbox.run({.script = script, .shell = ShellState::kept});
  if (result.exit_code != 0)
    throw std::runtime_error(
        fmt::format("a measured script went wrong: {} {}", result.reason, result.stderr_data));
  return result;
}

// One turn of a loop that repeats `command`: the start of a shell is not in it.
Row repeated(Sandbox& sandbox, std::string name, std::string target, const std::string& command,
             int turns) {
  const std::string script = fmt::format("for ((i = 0; i < {}; i++)); do {}; done", turns, command);
  return {.name = std::move(name),
          .target = std::move(target),
          .ours = [&sandbox, script,
                   turns] { return milliseconds([&] { kept(sandbox, script); }) / turns; },
          .native =
              [script, turns] {
                return milliseconds([&] { run_native({"bash", "-c", script}); }) / turns;
              },
          .native_name = "the same in bash",
          .rounds = 10};
}

Row warm_echo(Sandbox& sandbox) {
  return {.name = "warm `echo hi` in the kept shell, 20 in a row",
          .target = "0.05",
          .ours =
              [&sandbox] {
                constexpr int many = 20;
                return milliseconds([&] {
                         for (int i = 0; i < many; ++i) kept(sandbox, "echo hi");
                       }) /
                       many;
              },
          .native = [] { return milliseconds([] { run_native({"bash", "-c", "echo hi"}); }); },
          .native_name = "bash -c 'echo hi'",
          .rounds = 200};
}

// Other programs have had the caches of the processor meanwhile.
Row single_echo(Sandbox& sandbox) {
  return {.name = "the same once, after a native bash ran",
          .ours = [&sandbox] { return milliseconds([&] { kept(sandbox, "echo hi"); }); },
          .native = [] { return milliseconds([] { run_native({"bash", "-c", "echo hi"}); }); },
          .native_name = "bash -c 'echo hi'",
          .rounds = 200};
}

Row start(Sandbox& sandbox) {
  return {.name = "start of a shell: bash -c :",
          .target = "0.5",
          .ours = [&sandbox] { return milliseconds([&] { (void)sandbox.run({.script = ":"}); }); },
          .native = [] { return milliseconds([] { run_native({"bash", "-c", ":"}); }); },
          .native_name = "bash -c :"};
}

Row loop(Sandbox& sandbox) {
  const std::string script =
      "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); x=\"a$i\"; case $x in *9) :;; esac; done";
  return {.name = "20,000 turns of a loop of builtins",
          .target = "2 x native",
          .ours = [&sandbox, script] { return milliseconds([&] { kept(sandbox, script); }); },
          .native = [script] { return milliseconds([&] { run_native({"bash", "-c", script}); }); },
          .native_name = "the same in bash",
          .rounds = 7};
}

}  // namespace

std::vector<Row> shell_rows(Sandbox& sandbox) {
  return {warm_echo(sandbox),
          single_echo(sandbox),
          start(sandbox),
          loop(sandbox),
          repeated(sandbox, "x=$(echo a)", "0.5", "x=$(echo a)", 200),
          repeated(sandbox, "spawn of a tool: /bin/true", "1", "/bin/true", 100),
          repeated(sandbox, "(cd /tmp; /bin/true)", "1", "(cd /tmp; /bin/true)", 100)};
}

}  // namespace cloche::bench

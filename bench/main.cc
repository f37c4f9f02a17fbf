// SPDX-License-Identifier: Apache-2.0
// cloche_bench: the promises, in tables against native processes of this machine. `cloche_bench
// --micro` runs the small benchmarks of the layers (Google Benchmark; its options follow).
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "linux_rows.h"
#include "lives.h"
#include "promises.h"
#include "python_rows.h"
#include "rpc_rows.h"
#include "states.h"
#include "tool_rows.h"

namespace {

struct Topic {
  std::string_view name;
  void (*measure)();
};

constexpr Topic topics[] = {
    {"linux", cloche::bench::measure_linux},       {"lives", cloche::bench::measure_lives},
    {"promises", cloche::bench::measure_promises}, {"python", cloche::bench::measure_python},
    {"rpc", cloche::bench::measure_rpc},           {"states", cloche::bench::measure_states},
    {"tools", cloche::bench::measure_tools}};

int measure(const std::vector<std::string>& wanted) {
  for (const Topic& topic : topics) {
    if (wanted.empty() || std::ranges::find(wanted, topic.name) != wanted.end()) topic.measure();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--micro") {
    --argc;
    ++argv;
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  CLI::App app{"Measures what Cloche promises against native processes of this machine."};
  app.footer("cloche_bench --micro runs the small benchmarks of the layers.");
  std::vector<std::string> wanted;
  app.add_option("topics", wanted,
                 "linux, lives, promises, python, rpc, states, tools; all without any")
      ->check(CLI::IsMember({"linux", "lives", "promises", "python", "rpc", "states", "tools"}));
  try {
    app.parse(argc, argv);
    return measure(wanted);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cloche_bench: {}\n", error.what());
    return 2;
  }
}

// cloche_bench: the promises, in one table against native processes of this machine. `cloche_bench
// --micro` runs the small benchmarks of the layers (Google Benchmark; its options follow).
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <exception>
#include <string_view>

#include "promises.h"
#include "python_rows.h"
#include "rpc_rows.h"
#include "tool_rows.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--micro") {
    --argc;
    ++argv;
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  try {
    cloche::bench::measure_promises();
    cloche::bench::measure_python();
    cloche::bench::measure_rpc();
    cloche::bench::measure_tools();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cloche_bench: {}\n", error.what());
    return 2;
  }
}

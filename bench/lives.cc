// SPDX-License-Identifier: Apache-2.0
#include "lives.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cloche/engine.h"
#include "must.h"
#include "table.h"

namespace cloche::bench {
namespace {

constexpr int worker_count = 2;
constexpr std::chrono::milliseconds time_for_each{2000};

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// Per second, and the CPU time of each, which a busy machine disturbs less.
Figure lives(std::string name, std::string target, const std::function<void()>& life) {
  const Lived lived = live_for_a_while(life);
  return {std::move(name), std::move(target),
          fmt::format("{:.0f} a second, {:.3f} ms of CPU each", lived.per_second(),
                      lived.cpu_ms / lived.count)};
}

}  // namespace

Lived live_for_a_while(const std::function<void()>& life) {
  life();
  const double cpu_before = cpu_ms();
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < worker_count; ++i) {
    threads.emplace_back([&] {
      while (std::chrono::steady_clock::now() < begin + time_for_each) {
        life();
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return {count, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          cpu_ms() - cpu_before};
}

void measure_lives() {
  Engine engine(EngineOptions{});
  engine.prepare();
  const auto warm = engine.create({});
  must(warm->run_python("print(1)"), "1\n");
  const auto parent = engine.create({});
  must(parent->run_python("x = [1] * 1000; print(1)"), "1\n");
  print_figures({
      lives("sandbox + `echo hi`", "20,000 a second",
            [&] { must(engine.create({})->run({.script = "echo hi"}), "hi\n"); }),
      lives("sandbox + Python print(1)", "2,500 a second",
            [&] { must(engine.create({})->run_python("print(1)"), "1\n"); }),
      lives("fork of a live Python + print(len(x))", "",
            [&] { must(parent->fork()->run_python("print(len(x))"), "1000\n"); }),
      lives("pipeline of four in one sandbox", "",
            [&] { must(warm->run({.script = "seq 10 | cat | sort -n | tail -n 1"}), "10\n"); }),
      lives("python3 -c 'print(1)' in one sandbox", "",
            [&] { must(warm->run({.argv = {"python3", "-c", "print(1)"}}), "1\n"); }),
  });
}

}  // namespace cloche::bench

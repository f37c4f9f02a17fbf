// SPDX-License-Identifier: Apache-2.0
#include "states.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cloche/engine.h"
#include "cloche/python_session.h"
#include "must.h"
#include "table.h"

namespace cloche::bench {
namespace {

constexpr const char* numbers = "import numpy as np; state = np.ones(10 * 2**20 // 8); print(1)";
constexpr const char* write = "state += 1; print(1)";
constexpr const char* look = "print(int(state[7] > 0))";

void must(PythonSession& session, const char* code) {
  if (session.execute(code).status != ExecuteStatus::ok)
    throw std::runtime_error("a measured execution went wrong");
}

// Of one measurement; CPU time, of all threads of this process, is disturbed less by other work.
struct Time {
  double wall_ms;
  double cpu_ms;
};

double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

Time time_of(const std::function<void()>& body) {
  const double before = cpu_now();
  const double wall = milliseconds(body);
  return {wall, cpu_now() - before};
}

// Medians of `rounds`.
Figure figure(std::string name, std::string target, const std::function<Time()>& once) {
  constexpr int rounds = 30;
  std::vector<double> wall, cpu;
  (void)once();
  for (int i = 0; i < rounds; ++i) {
    const Time time = once();
    wall.push_back(time.wall_ms);
    cpu.push_back(time.cpu_ms);
  }
  return {std::move(name), std::move(target),
          fmt::format("{:.2f} ms, {:.2f} ms of CPU", median(wall), median(cpu))};
}

class Saved {
 public:
  explicit Saved(Engine& engine)
      : session_(engine, {.packages = {"numpy"}}, {}),
        file_(std::filesystem::temp_directory_path() /
              fmt::format("cloche-bench-{}.image", getpid())) {
    must(session_, numbers);
  }
  ~Saved() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;

  Time save() {
    must(session_, write);
    return time_of([&] { session_.checkpoint(file_, CheckpointFile::over_started); });
  }
  Time bring_back() {
    (void)save();
    return bring_back_again();
  }
  Time bring_back_again() {
    return time_of([&] {
      session_.restore(file_);
      must(session_, look);
    });
  }

 private:
  PythonSession session_;
  std::filesystem::path file_;
};

}  // namespace

void measure_states() {
  Engine engine(EngineOptions{});
  engine.prepare();
  const auto parent = engine.create({.packages = {"numpy"}});
  must(parent->run_python(numbers), "1\n");
  Saved saved(engine);
  const auto write_and = [&parent](const std::function<void()>& body) {
    must(parent->run_python(write), "1\n");
    return time_of(body);
  };
  print_figures({
      figure("numpy, 10 MB just written: fork", "",
             [&] { return write_and([&] { (void)parent->fork(); }); }),
      figure("the same, and a step in it", "1.3 ms",
             [&] { return write_and([&] { must(parent->fork()->run_python(look), "1\n"); }); }),
      figure("the writing after a fork: state += 1", "",
             [&] {
               (void)parent->fork();
               return time_of([&] { must(parent->run_python(write), "1\n"); });
             }),
      figure("checkpoint of that Python", "3 ms", [&] { return saved.save(); }),
      figure("restore, and a step", "1.5 ms", [&] { return saved.bring_back(); }),
      figure("the same once more, of that file", "", [&] { return saved.bring_back_again(); }),
  });
}

}  // namespace cloche::bench

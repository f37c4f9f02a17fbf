// SPDX-License-Identifier: Apache-2.0
#include "promises.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "cloche/engine.h"
#include "must.h"
#include "session_rows.h"
#include "shell_rows.h"
#include "table.h"

namespace cloche::bench {
namespace {

using std::chrono::milliseconds;

// Private memory of this process, KiB: what is not shared with any other mapping.
std::uint64_t private_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string line;
  std::uint64_t total = 0;
  while (std::getline(rollup, line)) {
    if (line.starts_with("Private_Dirty:")) total += std::stoull(line.substr(line.find(':') + 1));
  }
  return total;
}

std::string cli_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cloche").string();
}

class Promises {
 public:
  Promises() : engine_(EngineOptions{}) {
    engine_.prepare();
    warm_ = engine_.create({});
    must(warm_->run_python("print(1)"), "1\n");
  }

  void measure() {
    print_rows({create(), create_echo(), create_python(), warm_python(), pipeline(), fork_python(),
                after_fork(), command_line()});
    print_rows(shell_rows(*warm_));
    print_rows(session_rows(engine_));
    print_figures({lives(), idle_shell(), idle_python(), overshoot(), syscall()});
  }

 private:
  Row create() {
    return {.name = "create a sandbox", .target = "0.3", .ours = [this] {
              std::unique_ptr<Sandbox> sandbox;
              const double ms = milliseconds_of([&] { sandbox = engine_.create({}); });
              return ms;
            }};
  }

  Row create_echo() {
    return {.name = "create + first `echo hi`",
            .target = "1",
            .ours =
                [this] {
                  return milliseconds_of(
                      [&] { must(engine_.create({})->run({.script = "echo hi"}), "hi\n"); });
                },
            .native = [] { return milliseconds_of([] { run_native({"bash", "-c", "echo hi"}); }); },
            .native_name = "bash -c 'echo hi'"};
  }

  Row create_python() {
    return {
        .name = "create + first Python print(1)",
        .target = "3",
        .ours =
            [this] {
              std::unique_ptr<Sandbox> sandbox;
              return milliseconds_of([&] {
                sandbox = engine_.create({});
                must(sandbox->run_python("print(1)"), "1\n");
              });
            },
        .native = [] { return milliseconds_of([] { run_native({"python3", "-c", "print(1)"}); }); },
        .native_name = "python3 -c 'print(1)'"};
  }

  Row warm_python() {
    return {.name = "warm Python step print(1)", .target = "", .ours = [this] {
              return milliseconds_of([&] { must(warm_->run_python("print(1)"), "1\n"); });
            }};
  }

  Row pipeline() {
    const std::string script = "seq 1 10000 | grep 7 | wc -l";
    return {
        .name = script,
        .target = "native",
        .ours =
            [this, script] {
              return milliseconds_of([&] { must(warm_->run({.script = script}), "3439\n"); });
            },
        .native = [script] { return milliseconds_of([&] { run_native({"bash", "-c", script}); }); },
        .native_name = "the same in bash"};
  }

  Sandbox& with_numpy() {
    if (!numpy_) {
      numpy_ = engine_.create({.packages = {"numpy"}});
      must(numpy_->run_python(
               "import numpy as np; state = np.ones(10 * 2**20 // 8); print(int(state[0]))"),
           "1\n");
    }
    return *numpy_;
  }

  Row fork_python() {
    return {.name = "fork of a live Python, numpy + 10 MB", .target = "0.3", .ours = [this] {
              Sandbox& parent = with_numpy();
              std::unique_ptr<Sandbox> twin;
              return milliseconds_of([&] { twin = parent.fork(); });
            }};
  }

  Row after_fork() {
    return {
        .name = "first step after that fork", .target = "1.5", .ours = [this] {
          const std::unique_ptr<Sandbox> twin = with_numpy().fork();
          return milliseconds_of([&] { must(twin->run_python("print(int(state[7]))"), "1\n"); });
        }};
  }

  Row command_line() {
    return {
        .name = "command line, cold: cloche run 'echo hi'",
        .target = "25",
        .ours = [] { return milliseconds_of([] { run_native({cli_path(), "run", "echo hi"}); }); },
        .native = [] { return milliseconds_of([] { run_native({"bash", "-c", "echo hi"}); }); },
        .native_name = "bash -c 'echo hi'"};
  }

  Figure lives() {
    constexpr int workers = 2;
    const auto end = std::chrono::steady_clock::now() + milliseconds(2000);
    std::atomic<int> count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&] {
        while (std::chrono::steady_clock::now() < end) {
          must(engine_.create({})->run_python("print(1)"), "1\n");
          ++count;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return {"Python lives per second, 2 workers", ">= 1000", fmt::format("{}", count / 2)};
  }

  // Private memory that each of many idle sandboxes adds, after one use of it.
  template <typename Use>
  std::string idle_mib(Use&& use) {
    constexpr std::size_t many = 40;
    std::vector<std::unique_ptr<Sandbox>> sandboxes;
    const std::uint64_t before = private_kib();
    for (std::size_t i = 0; i < many; ++i) {
      sandboxes.push_back(engine_.create({}));
      use(*sandboxes.back());
    }
    const std::uint64_t after = private_kib();
    return fmt::format("{:.2f} MiB",
                       static_cast<double>(after - std::min(after, before)) / 1024 / many);
  }

  Figure idle_shell() {
    return {"private memory of an idle sandbox, shell", "",
            idle_mib([](Sandbox& sandbox) { must(sandbox.run({.script = "echo hi"}), "hi\n"); })};
  }

  Figure idle_python() {
    return {"private memory of an idle sandbox, Python", "<= 1.5 MiB",
            idle_mib([](Sandbox& sandbox) { must(sandbox.run_python("print(1)"), "1\n"); })};
  }

  Figure overshoot() {
    constexpr double limit_ms = 500;
    std::vector<double> over;
    for (int i = 0; i < 5; ++i) {
      over.push_back(milliseconds_of([&] {
                       (void)warm_->run(
                           {.script = "while :; do :; done", .timeout = milliseconds(500)});
                     }) -
                     limit_ms);
    }
    return {"overshoot of a 500 ms limit", "<= 5 ms", fmt::format("{:.2f} ms", median(over))};
  }

  // dd copies a byte at a time: two system calls a turn, less the same with a tenth of them.
  Figure syscall() {
    const auto copy = [this](int count) {
      return milliseconds_of([&] {
        (void)warm_->run({.script = fmt::format(
                              "dd if=/dev/zero of=/dev/null bs=1 count={} 2>/dev/null", count)});
      });
    };
    constexpr int many = 200'000;
    const double ms = copy(many) - copy(many / 10);
    return {"a system call (read or write of a byte)", "",
            fmt::format("{:.0f} ns", ms * 1e6 / (2 * 0.9 * many))};
  }

  static double milliseconds_of(const std::function<void()>& body) {
    return bench::milliseconds(body);
  }

  Engine engine_;
  std::unique_ptr<Sandbox> warm_;
  std::unique_ptr<Sandbox> numpy_;
};

}  // namespace

void measure_promises() { Promises().measure(); }

}  // namespace cloche::bench

// SPDX-License-Identifier: Apache-2.0
#include "linux_rows.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/engine.h"
#include "cloche/error.h"
#include "cloche/python_session.h"
#include "forking_python.h"
#include "lives.h"
#include "must.h"
#include "table.h"

namespace cloche::bench {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

constexpr const char* numbers =
    "import numpy as np; state = np.ones(10 * 2**20 // 8); print(int(state.sum() > 0))";
constexpr const char* loop =
    "import time\nt = time.process_time()\nx = 0\nfor i in range(3_000_000): x += i * i\n"
    "print(1e3 * (time.process_time() - t))";

bool has_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest(path == nullptr ? "/usr/bin" : path);
  for (;;) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(folder) / name, error)) return true;
    if (folder.size() == rest.size()) return false;
    rest.remove_prefix(folder.size() + 1);
  }
}

// What a program of this machine is started by.
struct Starter {
  std::string name;
  Words words;
};

std::vector<Starter> starters() {
  std::vector<Starter> all{{"native", {}}};
  if (has_program("unshare"))
    all.push_back({"unshare",
                   {"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork",
                    "--mount-proc", "--net", "--ipc", "--uts", "--cgroup"}});
  if (has_program("bwrap"))
    all.push_back({"bubblewrap",
                   {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev",
                    "/dev", "--tmpfs", "/tmp"}});
  return all;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

double timed(const std::function<void()>& body) { return bench::milliseconds(body); }

class LinuxRows {
 public:
  explicit LinuxRows(std::string image) : image_(std::move(image)), engine_(EngineOptions{}) {}

  void measure() {
    const bool has_numpy = make()->run_python("import numpy; print(1)").stdout_data == "1\n";
    const Words echo{"/bin/bash", "-c", "echo hi"};
    const Words print{"/usr/bin/python3", "-c", "print(1)"};
    const auto warm = make();
    fmt::print("{:<44} {:>9} {:>9}", "linux engine (medians, ms)", "target", "cloche");
    for (const Starter& starter : starters_) fmt::print(" {:>10}", starter.name);
    fmt::print("\n");
    row("create, and its end", "", [&] { make(); }, {});
    first(
        "create + echo", "1.0", [&] { return make(); },
        [](Sandbox& made) { must(made.run({.script = "echo hi"}), "hi\n"); }, echo);
    first(
        "create + echo, of a kind that is new", "2.5", [&] { return make_of_a_kind(); },
        [](Sandbox& made) { must(made.run({.script = "echo hi"}), "hi\n"); }, echo);
    first(
        "create + echo in the kept shell", "1.0", [&] { return make(); },
        [](Sandbox& made) { must(made.run(kept("echo hi")), "hi\n"); }, echo);
    first(
        "create + Python print(1)", "2.0", [&] { return make(); },
        [](Sandbox& made) { must(made.run_python("print(1)"), "1\n"); }, print);
    first(
        "create + the first execution of a session", "2.0", [&] { return make(); }, execute, print);
    for (const bool is_named : {false, true}) {
      if (!has_numpy) break;
      SandboxOptions with_numpy = options();
      if (is_named) with_numpy.packages = {"numpy"};
      const Words native{"/usr/bin/python3", "-c", numbers};
      first(
          is_named ? "the same with numpy in the options" : "create + numpy used", "4.0",
          [&] { return engine_.create(with_numpy); },
          [](Sandbox& made) { must(made.run_python(numbers), "1\n"); }, native);
    }
    row("warm echo", "", [&] { must(warm->run({.script = "echo hi"}), "hi\n"); }, echo);
    row("20 warm echoes in the kept shell", "",
        [&] {
          for (int i = 0; i < 20; ++i) must(warm->run(kept("echo hi")), "hi\n");
        },
        {});
    must(warm->run(kept("x=1")), "");
    row("fork of a live shell, then a run in it", "",
        [&] { must(warm->fork()->run(kept("echo $x")), "1\n"); }, {});
    python_forks();
    fmt::print("\n{:<44} {:>9} {:>9}", "lives a second, 2 workers", "target", "cloche");
    for (const Starter& starter : starters_) fmt::print(" {:>10}", starter.name);
    fmt::print("\n");
    lives("echo by bash", "600", [&] { must(make()->run({.script = "echo hi"}), "hi\n"); }, echo);
    lives("Python print(1)", "", [&] { must(make()->run_python("print(1)"), "1\n"); }, print);
    print_figures({computing(*warm), overshoot(*warm), bomb()});
    try {
      isolations();
    } catch (const Error& problem) {
      fmt::print("isolation=gvisor: not measured: {}\n", problem.what());
    }
  }

 private:
  SandboxOptions options() const {
    SandboxOptions options;
    options.engine = EngineKind::native_linux;
    options.image = image_;
    return options;
  }
  static RunOptions kept(std::string script) {
    return {.script = std::move(script), .shell = ShellState::kept};
  }
  std::unique_ptr<Sandbox> make() { return engine_.create(options()); }
  std::unique_ptr<Sandbox> make_isolated(Isolation isolation) {
    SandboxOptions isolated = options();
    isolated.isolation = isolation;
    return engine_.create(isolated);
  }
  static void execute(Sandbox& sandbox) {
    PythonSession session(sandbox);
    if (session.execute("print(1)").stdout_data != "1\n") throw std::runtime_error("no session");
  }
  // For which nothing has been made ready.
  std::unique_ptr<Sandbox> make_of_a_kind() {
    SandboxOptions of_a_kind = options();
    of_a_kind.user = std::to_string(1000 + kinds_++ % 50'000);
    return engine_.create(of_a_kind);
  }

  // What is timed, and what comes before it each time.
  struct Life {
    std::function<void()> timed;
    std::function<void()> before;
  };

  void python_forks() {
    const auto parent = make();
    must(parent->run_python(make_10_mb), "1\n");
    ForkingPython native;
    const auto fork = [&] { must(parent->fork()->run_python("print(len(state) > 0)"), "True\n"); };
    const auto fork_native = [&] { native.fork(); };
    row("fork of a live Python with 10 MB, then a run", "6.0", {{fork, {}}, {fork_native, {}}});
    row("the same, the 10 MB just written", "6.0",
        {{fork, [&] { must(parent->run_python(write_10_mb), ""); }},
         {fork_native, [&] { native.write(); }}});
  }

  void row(std::string_view name, std::string_view target, const std::function<void()>& ours,
           const Words& native) {
    row(name, target, beside({ours, {}}, native));
  }
  // Until a new sandbox has answered: its end is another matter.
  void first(std::string_view name, std::string_view target,
             const std::function<std::unique_ptr<Sandbox>()>& create,
             const std::function<void(Sandbox&)>& use, const Words& native) {
    std::unique_ptr<Sandbox> made;
    const Life ours{[&] {
                      made = create();
                      use(*made);
                    },
                    [&] { made.reset(); }};
    row(name, target, beside(ours, native));
  }
  std::vector<Life> beside(Life ours, const Words& native) const {
    std::vector<Life> lives{std::move(ours)};
    for (const Starter& starter : starters_) {
      if (!native.empty())
        lives.push_back({[&starter, &native] { run_native(with(starter.words, native)); }, {}});
    }
    return lives;
  }

  static void row(std::string_view name, std::string_view target, const std::vector<Life>& lives) {
    constexpr int rounds = 60;
    std::vector<std::vector<double>> times(lives.size());
    for (int round = -3; round < rounds; ++round) {
      for (std::size_t i = 0; i < lives.size(); ++i) {
        if (lives[i].before) lives[i].before();
        const double time = timed(lives[i].timed);
        if (round >= 0) times[i].push_back(time);
      }
    }
    fmt::print("{:<44} {:>9}", name, target);
    for (const std::vector<double>& column : times) fmt::print(" {:>9.3f} ", median(column));
    fmt::print("\n");
    std::fflush(stdout);
  }

  // Of both isolations, in turn.
  void isolations() {
    const auto full = make_isolated(Isolation::full), behind = make_isolated(Isolation::gvisor);
    fmt::print("\n{:<44} {:>9} {:>9}\n", "isolation (medians, ms)", "full", "gvisor");
    const auto both = [&](std::string_view name, const auto& of) {
      constexpr int rounds = 20;
      std::vector<double> of_full, of_gvisor;
      for (int round = -2; round < rounds; ++round) {
        const double one = timed([&] { of(Isolation::full, *full); });
        const double other = timed([&] { of(Isolation::gvisor, *behind); });
        if (round < 0) continue;
        of_full.push_back(one);
        of_gvisor.push_back(other);
      }
      fmt::print("{:<44} {:>9.2f} {:>9.2f}\n", name, median(of_full), median(of_gvisor));
      std::fflush(stdout);
    };
    both("create + echo", [&](Isolation isolation, Sandbox&) {
      must(make_isolated(isolation)->run({.script = "echo hi"}), "hi\n");
    });
    both("create + Python print(1)", [&](Isolation isolation, Sandbox&) {
      must(make_isolated(isolation)->run_python("print(1)"), "1\n");
    });
    both("warm echo",
         [](Isolation, Sandbox& warm) { must(warm.run({.script = "echo hi"}), "hi\n"); });
    both("a loop of python3",
         [](Isolation, Sandbox& warm) { (void)warm.run({.argv = {"python3", "-c", loop}}); });
    both("stat of 3,000 files", [](Isolation, Sandbox& warm) {
      must(warm.run({.script = "for ((i = 0; i < 3000; ++i)); do [ -e /usr/bin/env ]; done; echo"}),
           "\n");
    });
    both("fork, then echo",
         [](Isolation, Sandbox& warm) { must(warm.fork()->run({.script = "echo hi"}), "hi\n"); });
  }

  void lives(std::string_view name, std::string_view target, const std::function<void()>& ours,
             const Words& native) {
    fmt::print("{:<44} {:>9} {:>9.0f}", name, target, live_for_a_while(ours).per_second());
    for (const Starter& starter : starters_)
      fmt::print(" {:>10.0f}",
                 live_for_a_while([&] { run_native(with(starter.words, native)); }).per_second());
    fmt::print("\n");
    std::fflush(stdout);
  }

  // In turn, for a machine that has other work.
  Figure computing(Sandbox& sandbox) {
    std::vector<double> ratios;
    for (int i = 0; i < 9; ++i) {
      const auto ours = sandbox.run({.argv = {"python3", "-c", loop}}).stdout_data;
      // NOLINTNEXTLINE(bugprone-command-processor): no word of it is anybody else's
      FILE* const pipe = ::popen(fmt::format("/usr/bin/python3 -c '{}'", loop).c_str(), "r");
      char text[64] = {};
      const bool has_read = pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr;
      if (pipe != nullptr) ::pclose(pipe);
      if (has_read && !ours.empty()) ratios.push_back(std::stod(ours) / std::stod(text));
    }
    return {"CPU time of a loop, of native", "1.02", fmt::format("{:.3f}", median(ratios))};
  }

  static double beyond(Sandbox& sandbox, const char* script, int rounds) {
    constexpr milliseconds limit{100};
    std::vector<double> over;
    for (int i = 0; i < rounds; ++i) {
      const double took = timed([&] { sandbox.run({.script = script, .timeout = limit}); });
      over.push_back(took - static_cast<double>(limit.count()));
    }
    return median(over);
  }

  static Figure overshoot(Sandbox& sandbox) {
    return {"beyond a time limit, ms", "2",
            fmt::format("{:.2f}", beyond(sandbox, "while :; do :; done", 15))};
  }

  Figure bomb() {
    SandboxOptions few = options();
    few.process_limit = 300 / 8;
    const auto sandbox = engine_.create(few);
    return {"the same of a fork bomb, ms", "50",
            fmt::format("{:.1f}", beyond(*sandbox, "f() { f | f & }; f; while :; do :; done", 5))};
  }

  const std::string image_;
  const std::vector<Starter> starters_ = starters();
  Engine engine_;
  int kinds_ = 0;
};

}  // namespace

void measure_linux() {
  const char* const named = std::getenv("CLOCHE_BENCH_IMAGE");
  const std::string image = named == nullptr ? "bench" : named;
  try {
    LinuxRows(image).measure();
  } catch (const Error& problem) {
    fmt::print("linux engine: not measured: {}\n", problem.what());
  }
}

}  // namespace cloche::bench

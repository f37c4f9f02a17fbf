// SPDX-License-Identifier: Apache-2.0
// Runs on a machine that has not compiled a program of the system's yet. Another process compiles
// it for as long as a test likes: the test holds the lock that such a process would.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <functional>
#include <future>
#include <ostream>
#include <set>
#include <stop_token>

#include "base/temp_dir_testing.h"
#include "base/unique_fd.h"
#include "base/waiting_testing.h"
#include "cloche/engine.h"
#include "doors/grading/grader.h"

namespace cloche {
namespace {

using std::chrono::milliseconds;
using Paths = std::set<std::filesystem::path>;

constexpr milliseconds limit{3000};

// A cache that has what the tests need, but not the code of `rev`.
class Cache {
 public:
  Cache() {
    Engine engine(options());
    const auto sandbox = engine.create({});
    EXPECT_EQ(sandbox->run({.script = "setsid -w bash -c :"}).exit_code, 0);
    const Paths before = code();
    EXPECT_EQ(sandbox->run({.argv = {"rev"}}).exit_code, 0);
    for (const std::filesystem::path& file : code()) {
      if (!before.contains(file)) rev_ = file;
    }
  }

  EngineOptions options() const {
    EngineOptions options{.system_folder = CLOCHE_ROOTFS_DIR};
    options.code_folder = folder_.path() / "none";
    options.cache_folder = folder_.path() / "cache";
    return options;
  }
  const std::filesystem::path& rev() const { return rev_; }

 private:
  Paths code() const {
    Paths found;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.path() / "cache" / "modules")) {
      if (entry.path().extension() == ".code") found.insert(entry.path());
    }
    return found;
  }

  TempDir folder_;
  std::filesystem::path rev_;
};

const Cache& cache() {
  static const Cache one;
  return one;
}

class FirstUse : public ::testing::Test {
 protected:
  FirstUse() {
    std::filesystem::remove(cache().rev());
    lock_ = UniqueFd(
        ::open((cache().rev().string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(lock_.get(), LOCK_EX), 0);
    engine_ = std::make_unique<Engine>(cache().options());
    sandbox_ = engine_->create({});
  }

  // Once the run would be over, and something waits for the compiler.
  void let_compile_late() {
    const auto over = std::chrono::steady_clock::now() + limit;
    EXPECT_TRUE(testing::within_a_minute([&] {
      return std::chrono::steady_clock::now() > over &&
             sandbox_->usage().compile_wait > milliseconds(0);
    }));
    lock_.reset();
  }

  std::future<RunResult> begin(const RunOptions& options) {
    return std::async(std::launch::async, [this, options] { return sandbox_->run(options); });
  }

  // Ends although nothing is compiled.
  void expect_cancelled(std::future<RunResult> run, const std::function<void()>& cancel) {
    EXPECT_TRUE(
        testing::within_a_minute([&] { return sandbox_->usage().compile_wait > milliseconds(0); }));
    cancel();
    const RunResult result = run.get();
    EXPECT_EQ(result.status, RunStatus::killed) << result.reason;
    EXPECT_EQ(result.exit_code, 137);
    EXPECT_FALSE(std::filesystem::exists(cache().rev()));
  }

  UniqueFd lock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Sandbox> sandbox_;
};

struct Kind {
  std::string name;
  RunOptions options;
};
void PrintTo(const Kind& kind, std::ostream* to) { *to << kind.name; }

class FirstUseOfARun : public FirstUse, public ::testing::WithParamInterface<Kind> {
 protected:
  RunOptions options() const {
    RunOptions options = GetParam().options;
    options.stdin_data = "pots\n";
    return options;
  }
};

TEST_P(FirstUseOfARun, ItsTimeLimitDoesNotCountTheCompiler) {
  RunOptions timed = options();
  timed.timeout = limit;
  auto run = begin(timed);
  let_compile_late();
  const RunResult result = run.get();
  EXPECT_EQ(result.status, RunStatus::exited) << result.reason;
  EXPECT_EQ(result.stdout_data, "stop\n");
}

TEST_P(FirstUseOfARun, CancelEndsTheWait) {
  expect_cancelled(begin(options()), [this] { sandbox_->cancel(); });
}

TEST_P(FirstUseOfARun, StopEndsTheWait) {
  std::stop_source stop;
  RunOptions stopped = options();
  stopped.stop = stop.get_token();
  expect_cancelled(begin(stopped), [&] { stop.request_stop(); });
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FirstUseOfARun,
    ::testing::Values(Kind{"Program", {.argv = {"rev"}}},
                      Kind{"ProgramOfAProgram", {.argv = {"setsid", "-w", "rev"}}},
                      Kind{"Script", {.script = "rev | (rev | rev)"}},
                      Kind{"KeptShell", {.script = "rev", .shell = ShellState::kept}}),
    [](const auto& kind) { return kind.param.name; });

TEST_F(FirstUse, TheTimeLimitOfALiveRunDoesNotCountTheCompiler) {
  LiveRunOptions options{.command = {.script = "echo pots | rev", .timeout = limit}};
  const std::unique_ptr<LiveRun> run = sandbox_->start(options);
  let_compile_late();
  const RunResult result = run->wait();
  EXPECT_EQ(result.status, RunStatus::exited) << result.reason;
  EXPECT_EQ(result.stdout_data, "stop\n");
}

TEST_F(FirstUse, ALiveRunThatWaitsIsKilled) {
  const std::unique_ptr<LiveRun> run = sandbox_->start({.command = {.script = "rev"}});
  EXPECT_TRUE(
      testing::within_a_minute([&] { return sandbox_->usage().compile_wait > milliseconds(0); }));
  run->kill();
  EXPECT_EQ(run->wait().status, RunStatus::killed);
  EXPECT_FALSE(std::filesystem::exists(cache().rev()));
}

TEST_F(FirstUse, AVerdictIsNotAboutTheCompiler) {
  grading::RunRequest request;
  request.program = "rev";
  request.file_name = "text";
  request.code = "pots\n";
  request.timeout = limit;
  grading::Grader grader(*engine_, {});
  auto run = std::async(std::launch::async, [&] { return grader.grade(request, {}); });
  const auto over = std::chrono::steady_clock::now() + limit;
  EXPECT_EQ(run.wait_until(over + limit / 10), std::future_status::timeout);
  lock_.reset();
  const grading::RunVerdict verdict = run.get();
  EXPECT_EQ(verdict.outcome, grading::Outcome::finished) << verdict.message;
  EXPECT_EQ(verdict.out, "stop\n");
}

// Its code is another one's, made by the compiler of what users bring.
TEST_F(FirstUse, ACopyOfTheProgramIsTheUsers) {
  const Result<std::string> program = sandbox_->files().read("/usr/bin/rev");
  ASSERT_TRUE(program);
  ASSERT_TRUE(sandbox_->files().write("/workspace/mine", *program, 0755));
  const RunResult result = sandbox_->run({.argv = {"/workspace/mine"}, .stdin_data = "pots\n"});
  EXPECT_EQ(result.stdout_data, "stop\n") << result.reason;
  EXPECT_EQ(sandbox_->usage().compile_wait, milliseconds(0));
  EXPECT_FALSE(std::filesystem::exists(cache().rev()));
}

}  // namespace
}  // namespace cloche

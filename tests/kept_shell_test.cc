// SPDX-License-Identifier: Apache-2.0
// The shell that a sandbox keeps: what stays from run to run, what does not, and how it comes back.
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>
#include <stop_token>
#include <thread>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

class KeptShell : public ::testing::Test {
 protected:
  RunResult run_with(RunOptions options) {
    options.shell = ShellState::kept;
    return sandbox_->run(options);
  }
  RunResult run(const std::string& script) { return run_with({.script = script}); }
  std::string out(const std::string& script) {
    const RunResult result = run(script);
    EXPECT_EQ(result.stderr_data, "") << script;
    EXPECT_EQ(result.reason, "") << script;
    return result.stdout_data;
  }

  std::unique_ptr<Sandbox> sandbox_ = make_sandbox();
};

TEST_F(KeptShell, StateStaysFromRunToRun) {
  out("cd /tmp; plain=1; export shown=2; list=(a 'b c'); declare -A map=([k]=v); f() { echo f$1; "
      "}");
  out("alias hi='echo hello'; shopt -s expand_aliases extglob; set -o pipefail; trap 'echo usr' "
      "USR1");
  out("set -- x 'y z'; umask 077");
  EXPECT_EQ(
      out("echo $PWD $plain ${list[1]} ${map[k]}; f 7; printenv shown; printenv plain || echo no"),
      "/tmp 1 b c v\nf7\n2\nno\n");
  EXPECT_EQ(out("hi; shopt extglob; false | true; echo $?; kill -USR1 $$; echo $2; umask"),
            "hello\nextglob        \ton\n1\nusr\ny z\n0077\n");
  EXPECT_EQ(sandbox_->run({.script = "echo $PWD${plain-}"}).stdout_data, "/workspace\n");
}

TEST_F(KeptShell, OneRunsEnvironmentAndDirectoryDoNotStay) {
  out("A=mine; export B=b; list=(1 2)");
  EXPECT_EQ(run_with({.script = "echo $A $B $C ${list[0]}; A=x; printenv A C; pwd; echo $OLDPWD",
                      .environment = {{"A", "run"}, {"C", "c"}, {"list", "l"}},
                      .cwd = "/usr"})
                .stdout_data,
            "run b c l\nx\nc\n/usr\n/workspace\n");
  EXPECT_EQ(out("echo $A ${C-unset} ${list[1]} ${OLDPWD-unset}; pwd; printenv A || echo no"),
            "mine unset 2 unset\n/workspace\nno\n");
  const RunResult lost = run_with({.script = "echo never", .cwd = "/nonesuch"});
  EXPECT_EQ(lost.status, RunStatus::not_started);
  EXPECT_EQ(lost.exit_code, 127);
}

TEST_F(KeptShell, TheSandboxsEnvironmentIsTold) {
  EXPECT_EQ(out("echo $HOME ${NEW-none}"), "/workspace none\n");
  sandbox_->set_environment("NEW", "1");
  EXPECT_EQ(out("printenv NEW; NEW=2"), "1\n");
  EXPECT_EQ(out("printenv NEW"), "2\n");
}

TEST_F(KeptShell, ArgumentsInputAndOutput) {
  EXPECT_EQ(
      run_with({.script = "echo $0 $1 $#; cat", .arguments = {"me", "a"}, .stdin_data = "in\n"})
          .stdout_data,
      "me a 1\nin\n");
  EXPECT_EQ(out("echo $0 $#; cat"), "bash 0\n");
  std::string seen;
  run_with({.script = "echo 1; echo 2 >&2; echo 3",
            .output = [&](Stream, std::string_view data) { seen += data; }});
  EXPECT_EQ(seen, "1\n2\n3\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "b\na\n", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(run_with({.script = "sort", .stdin_fd = ends[0]}).stdout_data, "a\nb\n");
  ::close(ends[0]);
  EXPECT_EQ(out("exec >/tmp/log; echo lost"), "");
  EXPECT_EQ(out("echo seen; cat /tmp/log"), "seen\nlost\n");
}

TEST_F(KeptShell, WhatEndsAScriptDoesNotEndTheShell) {
  out("keep=1");
  EXPECT_EQ(run("(exit 3)").exit_code, 3);
  EXPECT_EQ(run("a=1; exit 7; a=2").exit_code, 7);
  EXPECT_EQ(out("echo $a $keep $?"), "1 1 7\n");
  EXPECT_EQ(run("f() { exit 4; }; for i in 1 2; do f > /dev/null; done; echo no").exit_code, 4);
  EXPECT_EQ(run("echo $(").exit_code, 2);
  EXPECT_EQ(run("if true; then").exit_code, 2);
  EXPECT_EQ(run("set -u; echo $nonesuch; echo no").exit_code, 127);
  EXPECT_EQ(run("set +u; echo ${nonesuch:?told}; echo no").exit_code, 127);
  EXPECT_EQ(run("set -e; false; echo no").exit_code, 1);
  EXPECT_NE(run("echo $-; set +e").stdout_data.find('e'), std::string::npos);
  EXPECT_EQ(run("nonesuch_command").exit_code, 127);
  EXPECT_EQ(run("exec nonesuch_command").exit_code, 127);
  EXPECT_EQ(run("eval 'exit 5'").exit_code, 5);
  EXPECT_EQ(run("set -n").exit_code, 0);
  EXPECT_EQ(run("x=$(exit 9); echo $?; return 2").stdout_data, "9\n");
  EXPECT_EQ(out("echo $keep; type -t f"), "1\nfunction\n");
}

TEST_F(KeptShell, TheExitTrapRunsAtExit) {
  out("trap 'echo bye $?' EXIT");
  EXPECT_EQ(out("echo on"), "on\n");
  const RunResult result = run("exit 6");
  EXPECT_EQ(result.stdout_data, "bye 6\n");
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_EQ(out("exit 0"), "");
}

TEST_F(KeptShell, ADeadShellComesBackAsItWas) {
  out("cd /tmp; a=1; export b=2; f() { echo f; }; set -o pipefail; trap 'echo usr' USR1; umask "
      "027");
  const RunResult killed = run("a=9; kill -9 $$");
  EXPECT_EQ(killed.status, RunStatus::signaled);
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_NE(killed.reason, "");
  EXPECT_EQ(out("echo $PWD $a $b; f; set -o | grep -c 'pipefail.*on'; kill -USR1 $$; umask"),
            "/tmp 1 2\nf\n1\nusr\n0027\n");
  const RunResult late =
      run_with({.script = "a=8; while :; do :; done", .timeout = milliseconds(50)});
  EXPECT_EQ(late.status, RunStatus::timed_out);
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_EQ(out("echo $a"), "1\n");
  const RunResult replaced = run("exec echo other");
  EXPECT_EQ(replaced.stdout_data, "other\n");
  EXPECT_EQ(replaced.exit_code, 0);
  EXPECT_NE(replaced.reason, "");
  EXPECT_EQ(out("echo $a; sleep 0 & wait $!; echo $?"), "1\n0\n");
  EXPECT_EQ(run("exec sh -c 'exit 12'").exit_code, 12);
  EXPECT_EQ(run("kill -TERM $$; echo no").exit_code, 143);
  EXPECT_EQ(run_with({.script = "exec sleep 100", .timeout = milliseconds(50)}).exit_code, 124);
  EXPECT_EQ(out("rmdir $PWD/d 2>/dev/null; mkdir d; cd d; a=2"), "");
  EXPECT_EQ(run("rmdir ../d; kill -9 $$").exit_code, 137);
  EXPECT_EQ(run("echo $a").stdout_data, "2\n");
}

TEST_F(KeptShell, DeepRecursionIsAnError) {
  out("a=1");
  const RunResult result = run("f() { f; }; f");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.stderr_data.find("nesting level"), std::string::npos) << result.reason;
  EXPECT_EQ(out("echo $a"), "1\n");
}

TEST_F(KeptShell, JobsGoOnFromRunToRun) {
  out("(sleep 0.1; echo late; echo done > /tmp/f) & p=$!");
  EXPECT_EQ(out("wait $p; cat /tmp/f"), "done\n");
  out("sleep 1000 & p=$!");
  EXPECT_EQ(run_with({.script = "sleep 1000", .timeout = milliseconds(50)}).exit_code, 124);
  // The shell is another one, and the job of before is alive, as a process that is not its child.
  EXPECT_EQ(out("kill -0 $p && echo alive; kill $p"), "alive\n");
  EXPECT_EQ(out("sleep 1000 & kill %1; wait %1; echo $?"), "143\n");
  EXPECT_EQ(out("for i in {1..20}; do : & done; wait; echo $?"), "0\n");
}

TEST_F(KeptShell, RunsQueueAndACancelOvertakes) {
  out("n=0");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { run("m=$n; sleep 0.01; n=$((m + 1))"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(out("echo $n"), "8\n");

  // A cancel ends what runs and what waits; it is said again for a run that begins only then.
  std::vector<RunResult> results(3);
  std::atomic<int> ended = 0;
  std::vector<std::thread> waiting;
  for (RunResult& result : results) {
    waiting.emplace_back([&] {
      result = run("sleep 1000");
      ++ended;
    });
  }
  while (ended < 3) sandbox_->cancel();
  for (std::thread& thread : waiting) thread.join();
  for (const RunResult& result : results) EXPECT_EQ(result.status, RunStatus::killed);
  EXPECT_EQ(out("echo $n"), "8\n");
}

TEST_F(KeptShell, AForkGoesOnFromHere) {
  out("cd /tmp; a=1; f() { echo f $a; }");
  const auto twin = sandbox_->fork();
  const auto in_twin = [&](const std::string& script) {
    return twin->run({.script = script, .shell = ShellState::kept}).stdout_data;
  };
  EXPECT_EQ(in_twin("f; pwd; a=2; cd /"), "f 1\n/tmp\n");
  EXPECT_EQ(out("f; pwd"), "f 1\n/tmp\n");
  EXPECT_EQ(in_twin("f"), "f 2\n");
}

TEST_F(KeptShell, RandomNumbersDiffer) {
  std::set<std::string> seen;
  const std::string draw = "echo $RANDOM $RANDOM $RANDOM";
  seen.insert(out(draw));
  for (int i = 0; i < 3; ++i) {
    seen.insert(sandbox_->fork()->run({.script = draw, .shell = ShellState::kept}).stdout_data);
    seen.insert(make_sandbox()->run({.script = draw}).stdout_data);
    seen.insert(make_sandbox()->run({.script = draw, .shell = ShellState::kept}).stdout_data);
  }
  EXPECT_EQ(seen.size(), 10U);
}

TEST_F(KeptShell, WhatASubstitutionStillWritesIsInTheResult) {
  EXPECT_EQ(out("exec > >(tee /tmp/log); echo seen"), "seen\n");
  EXPECT_EQ(out("cat /tmp/log"), "seen\n");
  EXPECT_EQ(sandbox_->run({.script = "exec > >(tee log); echo fresh"}).stdout_data, "fresh\n");
}

TEST_F(KeptShell, MuchOutputAndInput) {
  const RunResult result =
      run_with({.script = "head -c 100000000 /dev/zero | tr '\\0' x; x=$(head -c "
                          "10000000 /dev/zero | tr '\\0' y); echo ${#x}",
                .output_limit_bytes = 1 << 20});
  EXPECT_EQ(result.stdout_data.size(), std::size_t{1} << 20);
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_EQ(run_with({.script = "wc -c", .stdin_data = std::string(3'000'000, 'z')}).stdout_data,
            "3000000\n");
}

TEST_F(KeptShell, StoppingEndsOneRunAloneAndTheShellIsAsItWasBefore) {
  out("x=kept; sleep 4321 &");
  for (const ShellState shell : {ShellState::kept, ShellState::fresh}) {
    std::stop_source stop;
    RunOptions options{.script = "x=lost; echo begun; sleep 1000 | sleep 1000",
                       .shell = shell,
                       .timeout = milliseconds(0)};
    options.output = [&](Stream, std::string_view) { stop.request_stop(); };
    // From another thread: a callback of the run must not wait for its end.
    std::stop_source asked;
    const std::stop_callback pass_on(stop.get_token(), [&asked] {
      std::thread([asked]() mutable { asked.request_stop(); }).detach();
    });
    options.stop = asked.get_token();
    const RunResult result = sandbox_->run(options);
    EXPECT_EQ(result.status, RunStatus::killed);
    EXPECT_EQ(result.exit_code, 137);
  }
  // What an earlier run has left in the background goes on.
  EXPECT_EQ(out("echo $x; ps -e -o args | grep -c '[s]leep 4321'"), "kept\n1\n");
}

TEST_F(KeptShell, ARunThatWasStoppedBeforeItBeganDoesNothing) {
  std::stop_source stop;
  stop.request_stop();
  for (const ShellState shell : {ShellState::kept, ShellState::fresh}) {
    RunOptions options{.script = "touch /workspace/never; sleep 1000", .shell = shell};
    options.timeout = milliseconds(0);
    options.stop = stop.get_token();
    EXPECT_EQ(sandbox_->run(options).status, RunStatus::killed);
  }
  EXPECT_EQ(out("echo fine"), "fine\n");
}

TEST_F(KeptShell, ARestartedShellIsANewOne) {
  out("x=1; cd /tmp; export y=2; echo text > /tmp/file");
  sandbox_->restart_shell();
  EXPECT_EQ(out("echo ${x-none} ${y-none}; pwd; cat /tmp/file"), "none none\n/workspace\ntext\n");
  sandbox_->restart_shell();
  sandbox_->restart_shell();
  sandbox_->set_environment("z", "3");
  EXPECT_EQ(out("echo $z"), "3\n");
}

}  // namespace
}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
// The shell that a sandbox keeps: what stays from run to run, what does not, and how it comes back.
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <set>
#include <stop_token>
#include <thread>

#include "engines_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

class KeptShell : public OnEachEngine {
 protected:
  void SetUp() override {
    OnEachEngine::SetUp();
    if (!IsSkipped()) sandbox_ = make_sandbox();
  }
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

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_P(KeptShell, StateStaysFromRunToRun) {
  out("cd /tmp; plain=1; export shown=2; list=(a 'b c'); declare -A map=([k]=v); f() { echo f$1; "
      "}");
  out("alias hi='echo hello'; shopt -s expand_aliases extglob; set -o pipefail; trap 'echo usr' "
      "USR1");
  out("set -- x 'y z'; umask 077");
  EXPECT_EQ(out("echo $PWD $plain ${list[1]} ${map[k]}; f 7; env | grep ^shown=; env | grep "
                "^plain= || echo no"),
            "/tmp 1 b c v\nf7\nshown=2\nno\n");
  EXPECT_EQ(out("hi; shopt extglob; false | true; echo $?; kill -USR1 $$; echo $2; umask"),
            "hello\nextglob        \ton\n1\nusr\ny z\n0077\n");
  EXPECT_EQ(sandbox_->run({.script = "echo $PWD${plain-}"}).stdout_data, "/workspace\n");
}

// A fork has what a run has written that it waits for.
TEST_P(KeptShell, AForkWaitsForTheRunAndHasItsFiles) {
  out("true");
  std::thread running([&] { EXPECT_EQ(out("echo > begun; sleep 0.3; echo written > f"), ""); });
  while (!sandbox_->files().stat("begun")) std::this_thread::yield();
  const auto twin = sandbox_->fork();
  running.join();
  const auto written = twin->files().read("f");
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(written.ok() ? *written : "", "written\n");
}

TEST_P(KeptShell, OneRunsEnvironmentAndDirectoryDoNotStay) {
  out("A=mine; export B=b; list=(1 2)");
  EXPECT_EQ(
      run_with(
          {.script = "echo $A $B $C ${list[0]}; A=x; env | grep ^[AC]= | sort; pwd; echo $OLDPWD",
           .environment = {{"A", "run"}, {"C", "c"}, {"list", "l"}},
           .cwd = "/usr"})
          .stdout_data,
      "run b c l\nA=x\nC=c\n/usr\n/workspace\n");
  EXPECT_EQ(out("echo $A ${C-unset} ${list[1]} ${OLDPWD-unset}; pwd; env | grep ^A= || echo no"),
            "mine unset 2 unset\n/workspace\nno\n");
  const RunResult lost = run_with({.script = "echo never", .cwd = "/nonesuch"});
  EXPECT_EQ(lost.status, RunStatus::not_started);
  EXPECT_EQ(lost.exit_code, 127);
  EXPECT_EQ(out("pwd"), "/workspace\n");
}

TEST_P(KeptShell, TheSandboxsEnvironmentIsTold) {
  EXPECT_EQ(out("echo ${PATH:+set} ${NEW-none}"), "set none\n");
  sandbox_->set_environment("NEW", "1");
  EXPECT_EQ(out("env | grep ^NEW=; NEW=2"), "NEW=1\n");
  EXPECT_EQ(out("env | grep ^NEW="), "NEW=2\n");
}

TEST_P(KeptShell, ArgumentsInputAndOutput) {
  EXPECT_EQ(
      run_with({.script = "echo $0 $1 $#; cat", .arguments = {"me", "a"}, .stdin_data = "in\n"})
          .stdout_data,
      "me a 1\nin\n");
  EXPECT_EQ(out("echo $0 $#; cat"), "bash 0\n");
  std::string seen, errors;
  run_with(
      {.script = "echo 1; echo 2 >&2; echo 3", .output = [&](Stream stream, std::string_view data) {
         (stream == Stream::out ? seen : errors) += data;
       }});
  EXPECT_EQ(seen, "1\n3\n");
  EXPECT_EQ(errors, "2\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "b\na\n", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(run_with({.script = "sort", .stdin_fd = ends[0]}).stdout_data, "a\nb\n");
  ::close(ends[0]);
  EXPECT_EQ(out("exec >/tmp/log; echo lost"), "");
  EXPECT_EQ(out("echo seen; cat /tmp/log"), "seen\nlost\n");
}

TEST_P(KeptShell, WhatEndsAScriptDoesNotEndTheShell) {
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

TEST_P(KeptShell, TheExitTrapRunsAtExit) {
  out("trap 'echo bye $?' EXIT");
  EXPECT_EQ(out("echo on"), "on\n");
  const RunResult result = run("exit 6");
  EXPECT_EQ(result.stdout_data, "bye 6\n");
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_EQ(out("exit 0"), "");
}

TEST_P(KeptShell, ADeadShellComesBackAsItWas) {
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
  EXPECT_EQ(out("rm -r $PWD/d 2>/dev/null; mkdir d; cd d; a=2"), "");
  EXPECT_EQ(run("rm -r ../d; kill -9 $$").exit_code, 137);
  EXPECT_EQ(run("echo $a").stdout_data, "2\n");
}

TEST_P(KeptShell, DeepRecursionIsAnError) {
  out("a=1");
  // Without a limit a native bash is ended by signal 11.
  const RunResult result =
      run((is_linux() ? "FUNCNEST=4000; " : "") + std::string("f() { f; }; f"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.stderr_data.find("nesting level"), std::string::npos) << result.reason;
  EXPECT_EQ(out("echo $a"), "1\n");
}

TEST_P(KeptShell, JobsGoOnFromRunToRun) {
  out("(sleep 0.1; echo late; echo done > /tmp/f) & p=$!");
  EXPECT_EQ(out("wait $p; cat /tmp/f"), "done\n");
  out("sleep 1000 & p=$!");
  EXPECT_EQ(run_with({.script = "sleep 1000", .timeout = milliseconds(50)}).exit_code, 124);
  // The shell is another one, and the job of before is alive, as a process that is not its child.
  EXPECT_EQ(out("kill -0 $p && echo alive; kill $p"), "alive\n");
  EXPECT_EQ(out("sleep 1000 & kill %1; wait %1; echo $?"), "143\n");
  EXPECT_EQ(out("for i in {1..20}; do : & done; wait; echo $?"), "0\n");
}

TEST_P(KeptShell, RunsQueueAndACancelOvertakes) {
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

TEST_P(KeptShell, AForkGoesOnFromHere) {
  out("cd /tmp; a=1; f() { echo f $a; }");
  const auto twin = sandbox_->fork();
  const auto in_twin = [&](const std::string& script) {
    return twin->run({.script = script, .shell = ShellState::kept}).stdout_data;
  };
  EXPECT_EQ(in_twin("f; pwd; a=2; cd /"), "f 1\n/tmp\n");
  EXPECT_EQ(out("f; pwd"), "f 1\n/tmp\n");
  EXPECT_EQ(in_twin("f"), "f 2\n");
}

TEST_P(KeptShell, RandomNumbersDiffer) {
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

TEST_P(KeptShell, WhatASubstitutionStillWritesIsInTheResult) {
  // A native one may need longer to begin than what is left behind is waited for.
  const std::string end = is_linux() ? "; exec >&-; wait $!" : "";
  EXPECT_EQ(out("exec > >(sed 'w /tmp/log'); echo seen" + end), "seen\n");
  EXPECT_EQ(out("cat /tmp/log"), "seen\n");
  EXPECT_EQ(sandbox_->run({.script = "exec > >(sed 'w log'); echo fresh" + end}).stdout_data,
            "fresh\n");
}

TEST_P(KeptShell, MuchOutputAndInput) {
  const RunResult result =
      run_with({.script = "head -c 100000000 /dev/zero | tr '\\0' x; x=$(head -c "
                          "10000000 /dev/zero | tr '\\0' y); echo ${#x}",
                .output_limit_bytes = 1 << 20});
  EXPECT_EQ(result.stdout_data.size(), std::size_t{1} << 20);
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_EQ(run_with({.script = "wc -c", .stdin_data = std::string(3'000'000, 'z')}).stdout_data,
            "3000000\n");
}

TEST_P(KeptShell, StoppingEndsOneRunAloneAndTheShellIsAsItWasBefore) {
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

TEST_P(KeptShell, ARunThatWasStoppedBeforeItBeganDoesNothing) {
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

// The fork of one that leaves waits for nothing, and what ends here after it is in neither.
TEST_P(KeptShell, NothingEndsWellInASandboxThatHasLeft) {
  out("x=kept");
  auto running = std::async(std::launch::async, [&] {
    return run_with({.script = "x=lost; touch begun; sleep 1000", .timeout = milliseconds(0)})
        .status;
  });
  while (!sandbox_->files().stat("begun")) std::this_thread::yield();
  const auto end_both = [&] {
    sandbox_->begin_to_leave();
    auto twin = sandbox_->fork();
    auto write =
        std::async(std::launch::async, [&] { return sandbox_->files().write("late", ""); });
    auto command =
        std::async(std::launch::async, [&] { return sandbox_->run({.script = ":"}).status; });
    EXPECT_EQ(write.wait_for(milliseconds(20)), std::future_status::timeout);
    EXPECT_EQ(command.wait_for(milliseconds(20)), std::future_status::timeout);
    return std::tuple(std::move(twin), std::move(write), std::move(command));
  };
  {
    auto [twin, write, command] = end_both();
    EXPECT_EQ(running.get(), RunStatus::killed);
    sandbox_->stay();
    EXPECT_TRUE(write.get());
    EXPECT_EQ(command.get(), RunStatus::exited);
    EXPECT_EQ(out("echo $x"), "kept\n");
  }
  ASSERT_TRUE(sandbox_->files().remove("late"));
  auto [twin, write, command] = end_both();
  sandbox_->leave();
  EXPECT_EQ(write.get().error(), Errno::canceled);
  EXPECT_EQ(command.get(), RunStatus::killed);
  EXPECT_FALSE(twin->files().stat("late"));
  EXPECT_EQ(twin->run({.script = "echo $x", .shell = ShellState::kept}).stdout_data, "kept\n");
}

TEST_P(KeptShell, ARestartedShellIsANewOne) {
  out("x=1; cd /tmp; export y=2; echo text > /tmp/file");
  sandbox_->restart_shell();
  EXPECT_EQ(out("echo ${x-none} ${y-none}; pwd; cat /tmp/file"), "none none\n/workspace\ntext\n");
  sandbox_->restart_shell();
  sandbox_->restart_shell();
  sandbox_->set_environment("z", "3");
  EXPECT_EQ(out("echo $z"), "3\n");
}

TEST_P(KeptShell, IsOneProcess) {
  const std::string pid = out("echo $$");
  EXPECT_EQ(run("exit 3").exit_code, 3);
  EXPECT_EQ(run("set -e; false").exit_code, 1);
  EXPECT_EQ(out("set +e; echo $$"), pid);
}

TEST_P(KeptShell, DescriptorsStay) {
  out("exec 5>/tmp/kept 6</etc/passwd; echo one >&5");
  EXPECT_EQ(out("echo two >&5; cat /tmp/kept"), "one\ntwo\n");
  EXPECT_EQ(run("read -r line <&6; exit 1").exit_code, 1);
  EXPECT_EQ(out("echo ${line%%:*}; exec 5>&- 6<&-; ls /tmp"), "root\nkept\n");
  EXPECT_EQ(out("exec 1>&-"), "");
  EXPECT_EQ(out("exec 0<&- 2>&-"), "");
  EXPECT_EQ(out("cat; echo back"), "back\n");
}

TEST_P(KeptShell, JobsAreKnownLater) {
  out("sleep 1000 & sleep 2000 &");
  EXPECT_EQ(out("jobs | grep -c Running"), "2\n");
  EXPECT_EQ(out("kill %1; wait %1; echo $?"), "143\n");
  EXPECT_EQ(run("exit 9").exit_code, 9);
  EXPECT_EQ(out("kill %2; wait %2; echo $?; (exit 7) & last=$!"), "143\n");
  EXPECT_EQ(out("wait $last; echo $?"), "7\n");
}

TEST_P(KeptShell, ATimeLimitEndsWhatItsRunHasStartedAlone) {
  out("(while :; do sleep 0.01; done) & early=$!; keep=1");
  const RunResult late =
      run_with({.script = "(setsid sleep 1234 &); sleep 1235 & while :; do :; done",
                .timeout = milliseconds(200)});
  EXPECT_EQ(late.status, RunStatus::timed_out);
  EXPECT_EQ(out("kill -0 $early && echo $keep; kill $early; ps ax -o args= | grep -c '^sleep 123'"),
            "1\n0\n");
}

TEST_P(KeptShell, EachScriptMayHaveItsExitTrap) {
  EXPECT_EQ(out("x=1; trap 'echo one; x=2' EXIT; exit"), "one\n");
  EXPECT_EQ(out("echo $x; trap 'echo two; exit 3' EXIT"), "2\n");
  const RunResult two = run("exit 1");
  EXPECT_EQ(two.stdout_data, "two\n");
  EXPECT_EQ(two.exit_code, 3);
  EXPECT_EQ(run("trap 'echo three' EXIT; exec nonesuch_command").stdout_data, "three\n");
  EXPECT_EQ(run("trap 'echo four' EXIT; exit 4").stdout_data, "four\n");
  EXPECT_EQ(run("trap 'echo five' EXIT; set -e; false").stdout_data, "five\n");
  EXPECT_EQ(run("set +e; trap 'exit 5' EXIT; exit 2").exit_code, 5);
  EXPECT_EQ(run("false; exit").exit_code, 1);
  EXPECT_EQ(run("trap 'echo six' EXIT; (exit 2); echo on").stdout_data, "on\n");
}

TEST_P(KeptShell, ScriptsCannotRedefineWhatRunsThem) {
  out("read() { :; }; eval() { :; }; builtin() { :; }; command() { :; }; exec() { :; }; "
      "printf() { :; }; trap() { :; }; cd() { :; }; export() { :; }; declare() { :; }");
  EXPECT_EQ(
      run_with({.script = "echo $A; pwd", .environment = {{"A", "1"}}, .cwd = "/usr"}).stdout_data,
      "1\n/usr\n");
  EXPECT_EQ(out("unset -f read eval builtin command exec printf trap cd export declare; pwd"),
            "/workspace\n");
  out("readonly A=fixed PWD OLDPWD");
  EXPECT_EQ(run_with({.script = "echo $A", .environment = {{"A", "run"}}}).stdout_data, "run\n");
  EXPECT_EQ(out("echo $A"), "fixed\n");
  sandbox_->restart_shell();
  out("unset ${!BASH*} 2>/dev/null; enable -n echo read eval; IFS=x; set -o posix");
  EXPECT_EQ(out("enable echo read eval; echo on; set +o posix"), "on\n");
  EXPECT_EQ(run("set -n; echo never").exit_code, 0);
  EXPECT_EQ(run("set -x; echo traced").stdout_data, "traced\n");
  EXPECT_EQ(run("set +x; trap 'echo debug' DEBUG").exit_code, 0);
  EXPECT_EQ(run("trap - DEBUG; echo quiet").stdout_data, "debug\nquiet\n");
  EXPECT_EQ(out("for n in {1..31}; do trap : $n 2>/dev/null; done; kill -TERM $$; echo alive"),
            "alive\n");
  EXPECT_EQ(out("echo still"), "still\n");
}

TEST_P(KeptShell, OddScripts) {
  EXPECT_EQ(out(""), "");
  EXPECT_EQ(out(std::string("echo a; \0 echo b", 17)), "a\n");
  EXPECT_EQ(out("x='" + std::string(16 << 20, 'y') + "'; echo ${#x}; unset x"), "16777216\n");
  EXPECT_EQ(out("echo $'a\\0b'; echo '\xff\xfe'"), "a\n\xff\xfe\n");
  EXPECT_EQ(out("coproc cat; echo x >&${COPROC[1]}; read -r y <&${COPROC[0]}; echo $y"), "x\n");
  EXPECT_EQ(out("echo z >&${COPROC[1]}; read -r y <&${COPROC[0]}; echo $y; kill $COPROC_PID"),
            "z\n");
  EXPECT_EQ(out("ulimit -n 64; ulimit -c 0"), "");
  EXPECT_EQ(out("ulimit -n"), "64\n");
}

// Where it has one to Cloche, a script may find it: what it does there it does to its own shell.
TEST_P(KeptShell, WhatAScriptDoesToOtherDescriptorsIsItsOwnAffair) {
  out("x=1");
  const std::string each = "for fd in /proc/$$/fd/*; do fd=${fd##*/}; ((fd > 2)) && ";
  for (const char* act : {"exec {fd}>&-", "echo hello >&$fd", "exec {copy}<>/dev/fd/$fd",
                          "eval \"exec 9<&$fd $fd<&-\"", "{ (sleep 1 <&$fd) & }"}) {
    const RunResult result =
        run_with({.script = each + act + "; done 2>/dev/null; x=lost; sleep 0.01",
                  .timeout = milliseconds(2000)});
    EXPECT_TRUE(result.exit_code == 0 || result.status != RunStatus::exited ||
                !result.reason.empty())
        << act << ' ' << result.exit_code;
    const RunResult next = run("echo ${x:+there}; x=1");
    EXPECT_EQ(next.stdout_data, "there\n") << act << ' ' << next.reason;
  }
}

TEST_P(KeptShell, IsThereAfterEverythingWasEnded) {
  out("x=1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run("x=lost; kill -9 -1 $$; sleep 1000").exit_code, 137) << i;
    sandbox_->cancel();
    EXPECT_EQ(out("echo $((x++))"), std::to_string(i + 1) + "\n");
  }
}

TEST_P(KeptShell, AForkHasItAll) {
  out("cd /tmp; umask 077; ulimit -S -n 99; declare -A map=([a]='b c'); list=(1 2 3); n=-1; "
      "declare -i n; shopt -s extglob; set -o pipefail; trap 'echo usr' USR1; alias hi='echo hi'; "
      "shopt -s expand_aliases; set -- p 'q r'; f() { echo f $1; }; exec 5>/tmp/five; sleep 1000 "
      "&");
  auto twin = sandbox_->fork();
  const auto in_twin = [&](const std::string& script) {
    const RunResult result = twin->run({.script = script, .shell = ShellState::kept});
    EXPECT_EQ(result.reason, "");
    return result.stdout_data + result.stderr_data;
  };
  EXPECT_EQ(in_twin("pwd; umask; ulimit -S -n; echo ${map[a]} ${list[2]} $2 $#; n+=3; echo $n"),
            "/tmp\n0077\n99\nb c 3 q r 2\n2\n");
  EXPECT_EQ(in_twin("hi; f x; kill -USR1 $$; false | true; echo $?; shopt -q extglob && echo ext"),
            "hi\nf x\nusr\n1\next\n");
  EXPECT_EQ(in_twin("jobs; (echo five >&5) 2>/dev/null || echo closed"), "closed\n");
  EXPECT_EQ(out("echo $n; jobs | grep -c Running; echo five >&5; cat /tmp/five"), "-1\n1\nfive\n");
  for (int i = 0; i < 4; ++i) {
    in_twin("list+=(x)");
    twin = twin->fork();
  }
  EXPECT_EQ(in_twin("echo ${#list[@]}; exit 5"), "7\n");
}

// An image's bash that cannot load the library: each script has one of its own then.
TEST_P(KeptShell, KeepsItsStateAsATextWhereItCannotStay) {
  if (!is_linux()) GTEST_SKIP() << "the wasm engine's bash is its own";
  ASSERT_TRUE(sandbox_->files().write("/tmp/startup", "enable() { return 1; }").ok());
  sandbox_->set_environment("BASH_ENV", "/tmp/startup");
  out("cd /tmp; x=1; f() { echo f $x; }");
  EXPECT_EQ(out("f; pwd; x=2"), "f 1\n/tmp\n");
  EXPECT_EQ(run("x=3; kill -9 $$").exit_code, 137);
  const auto twin = sandbox_->fork();
  EXPECT_EQ(twin->run({.script = "f", .shell = ShellState::kept}).stdout_data, "f 2\n");
  sandbox_->restart_shell();
  EXPECT_EQ(out("pwd; echo ${x-none}"), "/workspace\nnone\n");
}

CLOCHE_ON_EACH_ENGINE(KeptShell);

}  // namespace
}  // namespace cloche::testing

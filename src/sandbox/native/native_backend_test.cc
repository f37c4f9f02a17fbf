// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_backend.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <stop_token>
#include <thread>

#include "base/refused_threads_testing.h"
#include "native/host/test_image_testing.h"
#include "sandbox/native/gvisor_testing.h"
#include "sandbox/native/image_store_testing.h"
#include "sandbox/native/native_parts.h"

namespace cloche::sandbox {
namespace {

namespace fs = std::filesystem;

// With either isolation it is the same.
class NativeSandbox : public testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    if (GetParam() == Isolation::gvisor && !no_gvisor_here().empty())
      GTEST_SKIP() << no_gvisor_here();
    parts_ = std::make_unique<NativeParts>("/nowhere");
    parts_->images().import(native::test_image(), "test");
    sandbox_ = make({});
  }

  std::unique_ptr<Backend> make(SandboxOptions options) {
    options.engine = EngineKind::native_linux;
    options.isolation = GetParam();
    options.image = "test";
    return make_native_backend(*parts_, options);
  }

  RunResult run(const std::string& script, RunOptions options = {}) {
    options.script = script;
    return sandbox_->run(options);
  }
  std::string kept(const std::string& script, Backend* sandbox = nullptr) {
    RunOptions options;
    options.script = script;
    options.shell = ShellState::kept;
    const RunResult result = (sandbox ? sandbox : sandbox_.get())->run(options);
    return result.stdout_data + result.stderr_data;
  }

  ImageStoreForTests store_;
  std::unique_ptr<NativeParts> parts_;
  std::unique_ptr<Backend> sandbox_;
};

TEST_P(NativeSandbox, RunsScriptsAndPrograms) {
  const RunResult result = run("echo hello | tr a-z A-Z; echo oops >&2; exit 7");
  EXPECT_EQ(result.status, RunStatus::exited);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.stdout_data, "HELLO\n");
  EXPECT_EQ(result.stderr_data, "oops\n");
  RunOptions program;
  program.argv = {"cat"};
  program.stdin_data = std::string(500'000, 'x');
  EXPECT_EQ(sandbox_->run(program).stdout_data, program.stdin_data);
}

TEST_P(NativeSandbox, SaysWhyACommandWasNotStarted) {
  RunOptions missing;
  missing.argv = {"no-such-program"};
  RunResult result = sandbox_->run(missing);
  EXPECT_EQ(result.status, RunStatus::not_started);
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.reason, "cannot start no-such-program: No such file or directory");
  RunOptions nowhere;
  nowhere.cwd = "nowhere";
  result = run("true", nowhere);
  EXPECT_EQ(result.status, RunStatus::not_started);
  EXPECT_EQ(result.reason, "cannot start bash in /workspace/nowhere: No such file or directory");
}

TEST_P(NativeSandbox, ATimeLimitEndsAllOfARun) {
  RunOptions options;
  options.timeout = std::chrono::milliseconds(200);
  const RunResult result = run("(setsid sleep 1000 &); echo begun; sleep 1000", options);
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.stdout_data, "begun\n");
  EXPECT_EQ(result.reason, "the command was stopped at its time limit of 200 ms");
  EXPECT_EQ(run("ps ax -o args= | grep -c '^sleep'").stdout_data, "0\n");
}

TEST_P(NativeSandbox, ATimeLimitHoldsWhileOutputIsTakenSlowly) {
  std::stop_source stop;
  int pieces = 0;
  RunOptions options;
  options.timeout = std::chrono::milliseconds(300);
  options.stop = stop.get_token();
  options.output = [&](Stream, std::string_view) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (++pieces == 1000) stop.request_stop();
  };
  EXPECT_EQ(run("yes", options).status, RunStatus::timed_out);
}

TEST_P(NativeSandbox, ATimeLimitHoldsWhileNobodyTakesOutput) {
  bool has_ended = false;
  RunOptions options;
  options.timeout = std::chrono::milliseconds(300);
  options.output = [&](Stream, std::string_view) {
    for (int i = 0; i < 6000 && !has_ended; ++i) {
      has_ended = sandbox_->processes().empty();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  EXPECT_EQ(run("yes & sleep 1000", options).status, RunStatus::timed_out);
  EXPECT_TRUE(has_ended);
}

TEST_P(NativeSandbox, OutputThatIsTakenLateIsOfACommandThatHasEndedInTime) {
  const auto begin = std::chrono::steady_clock::now();
  bool is_early = false;
  RunOptions options;
  options.timeout = std::chrono::seconds(2);
  options.output = [&](Stream, std::string_view) {
    is_early = std::chrono::steady_clock::now() < begin + *options.timeout / 2;
    std::this_thread::sleep_for(2 * *options.timeout);
  };
  const RunResult result = run("sleep 1000 >/dev/null 2>&1 & echo begun", options);
  if (!is_early) GTEST_SKIP() << "this machine has too much to do";
  EXPECT_EQ(result.status, RunStatus::exited) << result.reason;
  EXPECT_EQ(run("ps ax -o args= | grep -c '^sleep'").stdout_data, "1\n");
}

TEST_P(NativeSandbox, StopAndCancelEndRuns) {
  std::stop_source stop;
  RunOptions options;
  options.stop = stop.get_token();
  options.output = [&](Stream, std::string_view) { stop.request_stop(); };
  RunResult result = run("echo up; sleep 1000", options);
  EXPECT_EQ(result.status, RunStatus::killed);
  EXPECT_EQ(result.exit_code, 137);
  RunOptions other;
  std::promise<void> begun;
  other.output = [&](Stream, std::string_view) { begun.set_value(); };
  auto running = std::async(std::launch::async, [&] { return run("echo up; sleep 1000", other); });
  begun.get_future().wait();
  sandbox_->cancel();
  EXPECT_EQ(running.get().status, RunStatus::killed);
  EXPECT_EQ(run("echo still").stdout_data, "still\n");
}

TEST_P(NativeSandbox, OutputBeyondTheLimitIsDropped) {
  RunOptions options;
  options.output_limit_bytes = 1000;
  const RunResult result = run("head -c 3000000 /dev/zero", options);
  EXPECT_EQ(result.stdout_data.size(), 1000U);
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_EQ(result.exit_code, 0);
}

TEST_P(NativeSandbox, WhatARunLeavesBehindGoesOn) {
  EXPECT_EQ(run("(while sleep 0.05; do echo noise; done) & echo $! >pid").exit_code, 0);
  EXPECT_EQ(run("sleep 0.2; kill $(cat pid) && echo was there").stdout_data, "was there\n");
}

TEST_P(NativeSandbox, MemoryHasALimit) {
  SandboxOptions small;
  small.memory_limit_bytes = 64 << 20;
  sandbox_ = make(small);
  const RunResult result = run("exec tail /dev/zero");
  EXPECT_EQ(result.status, RunStatus::signaled);
  EXPECT_NE(result.reason.find("more memory"), std::string::npos) << result.reason;
}

TEST_P(NativeSandbox, FilesAreTheSandboxes) {
  FileBackend& files = sandbox_->files(Account::user);
  ASSERT_TRUE(files.write("a/b.txt", std::string(300'000, 'y'), 0600).ok());
  ASSERT_TRUE(files.append("a/b.txt", "end").ok());
  EXPECT_EQ(run("stat -c '%s %a' a/b.txt; tail -c 3 a/b.txt").stdout_data, "300003 600\nend");
  EXPECT_EQ(*files.read_range("a/b.txt", 300'000, 10), "end");
  EXPECT_EQ(files.read("a/b.txt", 1000).error(), Errno::fbig);
  ASSERT_TRUE(files.make_symlink("/etc/passwd", "link").ok());
  EXPECT_EQ(files.link_stat("link")->target, "/etc/passwd");
  EXPECT_EQ(files.stat("link")->kind, FileKind::file);
  run("touch 1.log 2.log; mkdir -p x/y; touch x/y/3.log; mkfifo pipe");
  EXPECT_EQ(*files.glob("**/*.log"), (std::vector<std::string>{"1.log", "2.log", "x/y/3.log"}));
  EXPECT_FALSE(files.read("pipe", 100).ok());  // and does not wait
  EXPECT_EQ(files.read("nowhere", 1).error(), Errno::noent);
  ASSERT_TRUE(files.remove_all("x").ok());
  EXPECT_EQ(files.stat("x").error(), Errno::noent);
  EXPECT_EQ(files.list(".")->front().name, "1.log");
}

TEST_P(NativeSandbox, BeyondAllPlacesNothingIsWritten) {
  FileBackend& files = sandbox_->files(Account::user);
  ASSERT_TRUE(files.write("f", "content", 0600).ok());
  const auto file = files.open("f", OpenMode::read | OpenMode::write, 0600);
  ASSERT_TRUE(file.ok());
  for (const std::uint64_t offset :
       {UINT64_MAX, UINT64_MAX - 2, UINT64_MAX / 2 + 1, UINT64_MAX / 2})
    EXPECT_FALSE((*file)->write(offset, "other").ok()) << offset;
  EXPECT_EQ(*files.read("f", 100), "content");
}

TEST_P(NativeSandbox, AFileWithHolesIsWrittenWholeOrNotAtAll) {
  SandboxOptions options;
  options.file_limit_bytes = 4 << 20;
  sandbox_ = make(options);
  run("dd if=/dev/zero of=f bs=1 count=0 seek=2M; printf begin | dd of=f conv=notrunc; "
      "dd if=/dev/zero of=filler bs=64k");
  FileBackend& files = sandbox_->files(Account::user);
  for (const std::size_t size : {1 << 20, 2 << 20, 3 << 20}) {
    EXPECT_EQ(files.write("f", std::string(size, 'y'), 0600).error(), Errno::nospc);
    EXPECT_EQ(*files.read_range("f", 0, 6), std::string("begin\0", 6));
    EXPECT_EQ(files.stat("f")->size_bytes, 2U << 20);
  }
  ASSERT_TRUE(files.remove("filler").ok());
  ASSERT_TRUE(files.write("f", "short", 0600).ok());
  EXPECT_EQ(*files.read("f", 100), "short");
}

TEST_P(NativeSandbox, FilesHaveOwnersPathsAndAttributes) {
  FileBackend& files = sandbox_->files(Account::user);
  ASSERT_TRUE(files.write("a/b", "x", 0600).ok());
  ASSERT_TRUE(files.make_symlink("a/b", "link").ok());
  EXPECT_EQ(*files.resolve("./a/../link"), "/workspace/a/b");
  EXPECT_EQ(files.resolve("nowhere").error(), Errno::noent);
  EXPECT_EQ(files.stat("link")->user, 0U);
  EXPECT_EQ(std::to_string(files.stat("a/b")->inode) + "\n", run("stat -c %i a/b").stdout_data);
  EXPECT_EQ(files.set_attribute("a/b", "trusted.x", "1").error(), Errno::notsup);
  const Result<void> set = files.set_attribute("link", "user.colour", std::string("a\0b", 3));
  if (!set) GTEST_SKIP() << "files in memory have no attributes before Linux 6.6";
  EXPECT_EQ(files.attributes("a/b")->at("user.colour"), std::string("a\0b", 3));
  ASSERT_TRUE(files.remove_attribute("a/b", "user.colour").ok());
  EXPECT_TRUE(files.attributes("a/b")->empty());
  EXPECT_EQ(files.remove_attribute("a/b", "user.colour").error(), Errno::nodata);
}

TEST_P(NativeSandbox, FilesHaveLinksAndTimes) {
  FileBackend& files = sandbox_->files(Account::user);
  ASSERT_TRUE(files.write("f", "content", 0600).ok());
  ASSERT_TRUE(files.make_link("f", "hard").ok());
  EXPECT_EQ(run("stat -c '%h %s' f hard").stdout_data, "2 7\n2 7\n");
  EXPECT_EQ(files.make_link("f", "hard").error(), Errno::exist);
  EXPECT_EQ(files.make_link("none", "new").error(), Errno::noent);
  EXPECT_EQ(files.make_link(".", "new").error(), Errno::perm);
  ASSERT_TRUE(files.make_symlink("f", "soft").ok());
  ASSERT_TRUE(files.make_link("soft", "soft too").ok());
  EXPECT_EQ(files.link_stat("soft too")->target, "f");
  constexpr std::int64_t day_ns = 86'400'000'000'000;
  ASSERT_TRUE(files.set_times("soft", 1 * day_ns, 2 * day_ns).ok());
  ASSERT_TRUE(files.set_link_times("soft", 3 * day_ns, 4 * day_ns).ok());
  EXPECT_EQ(files.stat("f")->accessed_ns, 1 * day_ns);
  EXPECT_EQ(files.stat("f")->modified_ns, 2 * day_ns);
  EXPECT_EQ(files.link_stat("soft")->modified_ns, 4 * day_ns);
  EXPECT_TRUE(files.change_owner("f", 0, 0).ok());
  EXPECT_EQ(files.change_owner("none", 0, 0).error(), Errno::noent);
}

TEST_P(NativeSandbox, RootIsAtHomeElsewhere) {
  ASSERT_TRUE(sandbox_->files(Account::root).write("mine", "1", 0600).ok());
  RunOptions as_root;
  as_root.account = Account::root;
  EXPECT_EQ(run("pwd; echo $HOME $USER; cat mine", as_root).stdout_data, "/root\n/root root\n1");
  SandboxOptions user;
  user.user = "1000:1001";
  user.home = "/home/somebody";
  sandbox_ = make(user);
  EXPECT_EQ(run("id -u; id -g; pwd; touch f && echo ok").stdout_data,
            "1000\n1001\n/home/somebody\nok\n");
  const RunResult refused = run("true", as_root);
  EXPECT_EQ(refused.status, RunStatus::not_started);
  EXPECT_EQ(refused.reason, "cannot start bash: Operation not permitted");
  user.user = "somebody";
  EXPECT_THROW((void)make(user), Error);
}

TEST_P(NativeSandbox, FrozenProcessesStandStill) {
  std::string pid = run("(while :; do echo x >>ticks; done) >/dev/null 2>&1 & echo $!; "
                        "until [ -s ticks ]; do :; done")
                        .stdout_data;
  pid.pop_back();
  FileBackend& files = sandbox_->files(Account::user);
  const auto state = [&] {
    return files.read("/proc/" + pid + "/stat", 4096)->substr(pid.size() + 8, 1);
  };
  sandbox_->freeze();
  EXPECT_EQ(state(), "T");  // "PID (bash) T ..."
  const std::uint64_t before = files.stat("ticks")->size_bytes;
  sandbox_->thaw();
  while (files.stat("ticks")->size_bytes <= before) continue;
  EXPECT_NE(state(), "T");
}

TEST_P(NativeSandbox, OneWhoseBoxHasEndedIsNotFrozen) {
  static_cast<NativeBackend&>(*sandbox_).box().end();
  EXPECT_THROW(sandbox_->freeze(), Error);
  sandbox_->thaw();
  EXPECT_NE(run("true").status, RunStatus::exited);
}

// However many ways lead to a place, it is looked at once for each part of the pattern; and what no
// part leaves out ends.
TEST_P(NativeSandbox, APatternIsBounded) {
  FileBackend& files = sandbox_->files(Account::user);
  ASSERT_EQ(run("mkdir -p deep/1/2/3/4/5/6/7/8/9/10/11/12").exit_code, 0);
  std::string stars = "deep/";
  for (int i = 0; i < 24; ++i) stars += "**/";
  EXPECT_EQ(files.glob(stars + "12")->size(), 1U);
  ASSERT_EQ(run("mkdir wide; cd wide; for ((i = 0; i < 25000; ++i)); do : > $i; done").exit_code,
            0);
  EXPECT_EQ(files.glob("wide/*")->size(), 25'000U);
  std::string many = "wide/";
  for (int i = 0; i < 90; ++i) many += "**/";
  EXPECT_EQ(files.glob(many + "x").error(), Errno::fbig);
}

// The file server has no more rights than the guest: it is no way into pid 1.
TEST_P(NativeSandbox, FilesReachNoFurtherThanTheGuest) {
  FileBackend& files = sandbox_->files(Account::user);
  EXPECT_FALSE(files.write("/proc/1/mem", "x", 0600).ok());
  EXPECT_FALSE(files.read("/proc/1/environ", 1000).ok());
  EXPECT_FALSE(files.write("/proc/sys/kernel/hostname", "x", 0600).ok());
}

TEST_P(NativeSandbox, TheKeptShellKeepsItsState) {
  kept(
      "cd /tmp; x=1; declare -A map=([a]='b c'); f() { echo \"f $1\"; }; alias hi='echo hi'; "
      "shopt -s nullglob expand_aliases; set -u; trap 'echo got it' USR1");
  EXPECT_EQ(kept("pwd; echo $x ${map[a]}; f 2; hi; kill -USR1 $$; echo *.none"),
            "/tmp\n1 b c\nf 2\nhi\ngot it\n\n");
  EXPECT_EQ(kept("y=before; exit 3"), "");
  EXPECT_EQ(kept("echo $y"), "before\n");
  EXPECT_EQ(kept("y=lost; kill -9 $$"), "");
  EXPECT_EQ(kept("echo $y"), "before\n");
  RunOptions once;
  once.script = "echo $ONCE";
  once.shell = ShellState::kept;
  once.environment = {{"ONCE", "it's"}};
  EXPECT_EQ(sandbox_->run(once).stdout_data, "it's\n");
  EXPECT_EQ(kept("set +u; echo \"[$ONCE]\""), "[]\n");
  sandbox_->set_environment("LATER", "now");
  EXPECT_EQ(kept("echo $LATER"), "now\n");
  sandbox_->restart_shell();
  EXPECT_EQ(kept("pwd; echo \"[$x]\""), "/workspace\n[]\n");
}

TEST_P(NativeSandbox, TheKeptShellGoesOnAfterOutputThatIsTakenLate) {
  EXPECT_EQ(kept("x=1; echo $x"), "1\n");
  const auto begin = std::chrono::steady_clock::now();
  bool is_early = false;
  RunOptions options;
  options.script = "x=2; cd /tmp; echo begun";
  options.shell = ShellState::kept;
  options.timeout = std::chrono::seconds(2);
  options.output = [&](Stream, std::string_view) {
    is_early = std::chrono::steady_clock::now() < begin + *options.timeout / 2;
    std::this_thread::sleep_for(2 * *options.timeout);
  };
  const RunResult result = sandbox_->run(options);
  if (!is_early) GTEST_SKIP() << "this machine has too much to do";
  EXPECT_EQ(result.status, RunStatus::exited) << result.reason;
  EXPECT_EQ(kept("echo $x; pwd"), "2\n/tmp\n");
}

TEST_P(NativeSandbox, AForkGoesOnFromHere) {
  kept("echo one >file; x=parent");
  const std::unique_ptr<Backend> twin = sandbox_->fork([] {});
  EXPECT_EQ(kept("cat file; echo $x; echo two >file; x=twin", twin.get()), "one\nparent\n");
  EXPECT_EQ(kept("cat file; echo $x"), "one\nparent\n");
}

TEST_P(NativeSandbox, PythonKeepsItsNames) {
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  EXPECT_EQ(sandbox_->run_python("x = 20\nprint(x + 1)", {}).stdout_data, "21\n");
  RunResult result = sandbox_->run_python("print(x); 1/0", {});
  EXPECT_EQ(result.stdout_data, "20\n");
  EXPECT_NE(result.stderr_data.find("ZeroDivisionError"), std::string::npos);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(sandbox_->run_python("import sys; sys.exit(4)", {}).exit_code, 4);
  result = sandbox_->run_python("while True: pass", {.timeout = std::chrono::milliseconds(200)});
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(sandbox_->run_python("print('x' in dir())", {}).stdout_data, "False\n");
  EXPECT_EQ(sandbox_->run_python("print('y' * 300000)", {}).stdout_data.size(), 300'001U);
}

TEST_P(NativeSandbox, ALiveRunHasATerminal) {
  LiveRunOptions options;
  options.command.script =
      "stty size; [ $(tty) = \"$WHERE\" ] && echo named; env | grep -c WHERE; read line; echo got "
      "$line";
  options.command.environment["WHERE"] = "elsewhere";
  options.terminal = TerminalSize{.rows = 11, .columns = 22};
  options.terminal_variable = "WHERE";
  const auto live = sandbox_->start(options);
  ASSERT_TRUE(live->write_all("hi\r").ok());
  const std::optional<RunResult> result = live->wait_for(std::nullopt);
  ASSERT_TRUE(result.has_value());
  std::string said = result->stdout_data;
  const std::string_view echo = "hi\r\n";  // which comes when it comes
  ASSERT_NE(said.find(echo), std::string::npos) << said;
  said.erase(said.find(echo), echo.size());
  EXPECT_EQ(said, "11 22\r\nnamed\r\n1\r\ngot hi\r\n");
}

TEST_P(NativeSandbox, ALiveRunWithoutOneHasStreams) {
  LiveRunOptions options;
  options.command.script = "cat; echo end >&2; exit 5";
  const auto live = sandbox_->start(options);
  const std::string text(3'000'000, 'z');
  ASSERT_TRUE(live->write_all(text).ok());
  live->close_input();
  const std::optional<RunResult> result = live->wait_for(std::nullopt);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->stdout_data.size(), text.size());
  EXPECT_EQ(result->stderr_data, "end\n");
  EXPECT_EQ(result->exit_code, 5);
}

TEST_P(NativeSandbox, WhatALiveRunLeavesBehindGoesOn) {
  LiveRunOptions options;
  options.command.script = "sleep 1000 > /dev/null 2>&1 < /dev/null & echo $!";
  std::string pid;
  {
    const auto live = sandbox_->start(options);
    pid = live->wait_for(std::nullopt)->stdout_data;
    live->kill();
  }
  EXPECT_EQ(run("kill -0 " + pid).exit_code, 0);
  EXPECT_EQ(run("kill " + pid).exit_code, 0);
}

TEST_P(NativeSandbox, ALiveRunKnowsItsProcess) {
  LiveRunOptions options;
  options.command.script = "echo $$; exec cat";
  const auto live = sandbox_->start(options);
  const int pid = live->pid();
  live->close_input();
  EXPECT_EQ(live->wait_for(std::nullopt)->stdout_data, std::to_string(pid) + "\n");
  options.command.cwd = "/nowhere";
  EXPECT_EQ(sandbox_->start(options)->pid(), 0);
}

TEST_P(NativeSandbox, ALiveRunMayLastAsLongAsItsStreams) {
  LiveRunOptions options;
  options.end = LiveRunOptions::End::of_streams;
  options.command.script = "(read line <gate; echo late) & exit 3";
  run("mkfifo gate");
  const auto live = sandbox_->start(options);
  EXPECT_FALSE(live->wait_for(std::chrono::milliseconds(100)).has_value());
  run("echo now >gate");
  const std::optional<RunResult> result = live->wait_for(std::nullopt);
  EXPECT_EQ(result->stdout_data, "late\n");
  EXPECT_EQ(result->exit_code, 3);
  const auto other = sandbox_->start(options);
  EXPECT_FALSE(other->wait_for(std::chrono::milliseconds(100)).has_value());
  other->kill();
  EXPECT_EQ(other->wait_for(std::nullopt)->stdout_data, "");
}

TEST_P(NativeSandbox, RefusesWhatItHasNot) {
  SandboxOptions secrets;
  secrets.network.secrets = {{"KEY", {.value = "value", .hosts = {"192.0.2.1"}}}};
  EXPECT_THROW((void)make(secrets), Error);
  SandboxOptions no_rule;
  no_rule.network.allow = {"no rule"};
  EXPECT_THROW((void)make(no_rule), Error);
  SandboxOptions packages;
  packages.packages = {"numpy"};
  EXPECT_THROW((void)make(packages), Error);
  EXPECT_THROW((void)sandbox_->wasm(), Error);
  EXPECT_THROW(sandbox_->set_network_rules({"no rule"}), Error);
  SandboxOptions none;
  none.engine = EngineKind::native_linux;
  none.image = "not-there";
  EXPECT_THROW((void)make_native_backend(*parts_, none), Error);
}

#if !defined(CLOCHE_SANITIZED)

TEST_P(NativeSandbox, WithoutAThreadOfTheHostThereIsNoForkWithANetworkAndNoRule) {
  if (GetParam() == Isolation::gvisor) GTEST_SKIP() << "it has no network";
  const std::vector<std::string> rules{"127.0.0.1"};
  SandboxOptions options;
  options.network.allow = rules;
  const auto connected = make(options);
  {
    const RefusedThreads none;
    EXPECT_THROW((void)connected->fork([] {}), Error);
    EXPECT_THROW(sandbox_->set_network_rules(rules), Error);
  }
  EXPECT_TRUE(sandbox_->network_rules().empty());
  EXPECT_EQ(connected->fork([] {})->network_rules(), rules);
  sandbox_->set_network_rules(rules);
  EXPECT_EQ(sandbox_->network_rules(), rules);
}

#endif

TEST_P(NativeSandbox, HasNoNetworkButItsOwn) {
  EXPECT_NE(run("exec 3<>/dev/tcp/192.0.2.1/80").exit_code, 0);
  EXPECT_EQ(run("id -u; hostname 2>/dev/null || uname -n").stdout_data, "0\ncloche\n");
}

// By a pip that writes down what it was asked, and has one package.
TEST_P(NativeSandbox, PackagesAreWhatPipInstalls) {
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  const auto error_of = [&](std::vector<std::string> names) {
    const Result<void, Error> installed = sandbox_->install_packages(names);
    return installed ? std::string() : std::string(installed.error().what());
  };
  EXPECT_EQ(error_of({}), "");
  EXPECT_NE(error_of({"some"}).find("it has none"), std::string::npos);
  for (const char* name : {"", "-r", "--target=/x", "a\nb"})
    EXPECT_NE(error_of({name}).find("is no name of a package"), std::string::npos) << name;
  SandboxOptions options;
  options.packages = {"some"};
  EXPECT_THROW(make(options), Error);

  const std::string module =
      "import os, sys\n"
      "assert os.getcwd() == '/', os.getcwd()\n"
      "open('/workspace/asked', 'w').write(' '.join(sys.argv[1:]))\n"
      "assert os.environ['PIP_NO_INPUT'] == '1' and os.environ['PIP_NO_CACHE_DIR'] == 'off'\n"
      "if sys.argv[-1] == 'some': sys.exit(0)\n"
      "print('WARNING: slow', 'ERROR: \\x1b[31mNo matching distribution found for it', "
      "'notice', sep='\\n', file=sys.stderr)\n"
      "sys.exit(1)\n";
  run("mkdir -p /usr/lib/python3/dist-packages/pip");
  ASSERT_TRUE(sandbox_->files(Account::root)
                  .write("/usr/lib/python3/dist-packages/pip/__main__.py", module, 0644));
  ASSERT_TRUE(sandbox_->files(Account::root)
                  .write("/usr/lib/python3/dist-packages/pip/__init__.py", "", 0644));
  sandbox_->set_environment("PIP_NO_CACHE_DIR", "off");
  EXPECT_EQ(error_of({"other==1.0", "some"}), "");
  EXPECT_EQ(run("cat asked").stdout_data, "install --quiet -- other==1.0 some");
  const Result<void, Error> unknown = sandbox_->install_packages({"it"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Errno::noent);
  EXPECT_NE(
      std::string(unknown.error().what()).find("(?[31mNo matching distribution found for it)"),
      std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Isolations, NativeSandbox,
                         testing::Values(Isolation::full, Isolation::gvisor),
                         [](const testing::TestParamInfo<Isolation>& one) {
                           return one.param == Isolation::full ? std::string("full")
                                                               : std::string("gvisor");
                         });

}  // namespace
}  // namespace cloche::sandbox

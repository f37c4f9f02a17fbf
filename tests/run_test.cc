// SPDX-License-Identifier: Apache-2.0
// Commands in a sandbox: output, statuses, environment, input, pipelines, processes.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

TEST(Run, APipelineOfShellAndTool) { EXPECT_EQ(output_of("echo hello | tr a-z A-Z"), "HELLO\n"); }

TEST(Run, StatusesAreThoseOfAShell) {
  const auto sandbox = make_sandbox();
  const std::array<std::pair<const char*, int>, 7> cases{
      {{"exit 7", 7},
       {"false", 1},
       {"nonesuch_command", 127},
       {"/etc/passwd", 126},
       {"kill -TERM $$", 143},
       {"kill -9 $$", 137},
       {"bash -c 'kill -SEGV $$'; exit $?", 139}}};
  for (const auto& [script, status] : cases)
    EXPECT_EQ(sandbox->run({.script = script}).exit_code, status) << script;
}

TEST(Run, AFolderThatIsNotThereIsNamed) {
  const auto sandbox = make_sandbox();
  for (const ShellState shell : {ShellState::fresh, ShellState::kept}) {
    const RunResult result = sandbox->run({.script = "pwd", .shell = shell, .cwd = "/nope"});
    EXPECT_EQ(result.status, RunStatus::not_started);
    EXPECT_EQ(result.exit_code, 127);
    EXPECT_EQ(result.reason, "cannot start /bin/bash in /nope: No such file or directory");
  }
}

TEST(Run, ALimitWithoutEndIsNoLimit) {
  const auto sandbox = make_sandbox();
  constexpr auto never = std::chrono::milliseconds::max();
  for (const ShellState shell : {ShellState::fresh, ShellState::kept}) {
    const RunResult result =
        sandbox->run({.script = "sleep 0.01; echo hi", .shell = shell, .timeout = never});
    EXPECT_EQ(result.status, RunStatus::exited);
    EXPECT_EQ(result.stdout_data, "hi\n");
  }
  EXPECT_EQ(sandbox->run_python("print(1)", {.timeout = never}).stdout_data, "1\n");
}

TEST(Run, ASignalIsTold) {
  const RunResult result = make_sandbox()->run({.script = "kill -USR1 $$"});
  EXPECT_EQ(result.status, RunStatus::signaled);
  EXPECT_EQ(result.signal, 10);
}

TEST(Run, ArgumentsBecomeDollarZeroAndUp) {
  const RunResult result =
      make_sandbox()->run({.script = "echo $0 $1 \"$2\"", .arguments = {"name", "a", "b  c"}});
  EXPECT_EQ(result.stdout_data, "name a b  c\n");
}

TEST(Run, AProgramWithoutAShell) {
  const RunResult result = make_sandbox()->run({.argv = {"printf", "%s|", "a b", "c"}});
  EXPECT_EQ(result.stdout_data, "a b|c|");
  EXPECT_EQ(make_sandbox()->run({.argv = {"nonesuch"}}).status, RunStatus::not_started);
}

TEST(Run, OutputAndErrorsAreApart) {
  const RunResult result = make_sandbox()->run({.script = "echo out; echo err >&2"});
  EXPECT_EQ(result.stdout_data, "out\n");
  EXPECT_EQ(result.stderr_data, "err\n");
}

TEST(Run, InputComesFromBytes) {
  const std::string binary("a\0b\xff\n", 5);
  const RunResult result = make_sandbox()->run({.script = "cat", .stdin_data = binary});
  EXPECT_EQ(result.stdout_data, binary);
}

TEST(Run, InputComesFromADescriptor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "3\n1\n2\n", 6), 6);
  ::close(ends[1]);
  const RunResult result = make_sandbox()->run({.script = "sort", .stdin_fd = ends[0]});
  ::close(ends[0]);
  EXPECT_EQ(result.stdout_data, "1\n2\n3\n");
}

TEST(Run, AnInputThatNeverEndsDoesNotHoldTheRun) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const RunResult result = make_sandbox()->run({.script = "echo done", .stdin_fd = ends[0]});
  EXPECT_EQ(result.stdout_data, "done\n");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Run, EnvironmentOfSandboxAndRun) {
  const auto sandbox = make_sandbox({.environment = {{"A", "1"}}});
  sandbox->set_environment("B", "2");
  const RunResult result =
      sandbox->run({.script = "echo $A$B$C $HOME $USER $PWD", .environment = {{"C", "3"}}});
  EXPECT_EQ(result.stdout_data, "123 /workspace sandbox /workspace\n");
  EXPECT_EQ(sandbox->run({.script = "echo x$C"}).stdout_data, "x\n");
}

TEST(Run, NothingOfTheHostShows) {
  // What only the host has: a variable, a file, a process, its folders.
  const std::string secret = "only-the-host-knows-4c1f";
  ASSERT_EQ(::setenv("CLOCHE_TEST_SECRET", secret.c_str(), 1), 0);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / secret;
  std::ofstream(file) << secret;
  const std::string all = output_of(
      "env; cat /proc/self/environ /proc/$PPID/environ 2>&1 | tr '\\0' '\\n'; "
      "cat /etc/passwd /etc/hostname /proc/mounts /proc/self/mountinfo /proc/cpuinfo "
      "/proc/version; "
      "ls -a / /tmp /home /proc; find / -xdev -name 'only-the-*' 2>&1; ps -ef");
  std::filesystem::remove(file);
  ::unsetenv("CLOCHE_TEST_SECRET");
  EXPECT_EQ(all.find(secret), std::string::npos) << all;
  for (const std::string_view path : {CLOCHE_SOURCE_DIR, CLOCHE_BINARY_DIR, CLOCHE_ROOTFS_DIR})
    EXPECT_EQ(all.find(path), std::string::npos) << path;
  EXPECT_EQ(output_of("uname -n; hostname"), "cloche\ncloche\n");
  EXPECT_EQ(output_of("hostname -s; hostname -f; hostname -i; domainname; dnsdomainname"),
            "cloche\ncloche\n127.0.0.1\n(none)\n");
  EXPECT_EQ(output_of("hostname other 2>&1; echo $?; uname -n"),
            "hostname: you must be root to change the host name\n1\ncloche\n");
  // The processes are the sandbox's own: this program is none of them.
  EXPECT_EQ(all.find("cloche_test"), std::string::npos) << all;
}

TEST(Run, FilesLastFromRunToRun) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(sandbox->run({.script = "mkdir -p a/b; echo x > a/b/f; cd a"}).exit_code, 0);
  EXPECT_EQ(sandbox->run({.script = "pwd; cat a/b/f"}).stdout_data, "/workspace\nx\n");
}

TEST(Run, TheSystemIsReadOnly) {
  const auto sandbox = make_sandbox();
  const std::string look = "sha256sum /etc/passwd /bin/bash; ls -la / /etc /usr /usr/bin /usr/lib";
  const std::string before = sandbox->run({.script = look}).stdout_data;
  ASSERT_NE(before, "");
  for (const std::string attempt :
       {"echo x > /etc/passwd", "echo x >> /etc/passwd", "rm -f /bin/bash", "touch /usr/x",
        "mv /usr/bin/bash /tmp/", "chmod 777 /etc", "mkdir /new", "ln -s /tmp /usr/lib/link",
        "cp /bin/true /usr/bin/bash", "truncate -s 0 /etc/passwd"}) {
    const RunResult result = sandbox->run({.script = attempt});
    EXPECT_NE(result.exit_code, 0) << attempt;
    // Who does not own a file may not change its mode: EPERM, as on Linux.
    const std::string reason =
        attempt.starts_with("chmod") ? "Operation not permitted" : "Permission denied";
    EXPECT_NE(result.stderr_data.find(reason), std::string::npos)
        << attempt << ": " << result.stderr_data;
  }
  EXPECT_EQ(sandbox->run({.script = look}).stdout_data, before);
  EXPECT_EQ(output_of("echo 1 > /tmp/x; echo 2 > /var/tmp/x; cat /tmp/x /var/tmp/x"), "1\n2\n");
}

TEST(Run, SubshellsSubstitutionsAndJobs) {
  EXPECT_EQ(output_of("x=1; (x=2; echo $x); echo $x; y=$(echo $(echo deep)); echo $y"),
            "2\n1\ndeep\n");
  EXPECT_EQ(output_of("sleep 0.05 & p=$!; wait $p; echo $?; (exit 4) & wait $!; echo $?"),
            "0\n4\n");
  EXPECT_EQ(output_of("seq 1 5 | while read -r n; do echo $((n * n)); done | tail -1"), "25\n");
  EXPECT_EQ(output_of("set -o pipefail; yes | head -1; echo ${PIPESTATUS[0]}"), "y\n141\n");
  EXPECT_EQ(output_of("cat <(echo a) <(echo b)"), "a\nb\n");
}

TEST(Run, TrapsAndSignals) {
  EXPECT_EQ(output_of("trap 'echo got' USR1; kill -USR1 $$; echo after"), "got\nafter\n");
  EXPECT_EQ(output_of("trap 'echo bye' EXIT; true"), "bye\n");
  // A handler in a shell that computes, and one in a shell that waits.
  EXPECT_EQ(
      output_of("trap 'echo alarm; exit 0' TERM; (sleep 0.1; kill -TERM $$) & while :; do :; done"),
      "alarm\n");
  EXPECT_EQ(
      output_of("trap 'echo woken; exit 0' TERM; (sleep 0.1; kill -TERM $$) & sleep 60 & wait"),
      "woken\n");
}

TEST(Run, ManyAtOnceInOneSandbox) {
  const auto sandbox = make_sandbox();
  std::vector<std::thread> threads;
  std::array<std::string, 8> outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] {
      outputs[i] = sandbox->run({.script = "echo " + std::to_string(i) + " | cat"}).stdout_data;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], std::to_string(i) + "\n");
}

// The second word is written only after the first has been seen: the script waits for a file that
// the reader of its output makes.
TEST(Run, OutputIsStreamedAsItIsWritten) {
  const auto sandbox = make_sandbox();
  std::string seen;
  std::promise<void> first_seen;
  std::thread answer([&] {
    first_seen.get_future().wait();
    EXPECT_TRUE(sandbox->files().write("/tmp/go-on", ""));
  });
  const RunResult result = sandbox->run(
      {.script = "echo one; until [ -e /tmp/go-on ]; do sleep 0.01; done; echo two >&2; echo three",
       .output = [&](Stream stream, std::string_view data) {
         if (seen.empty()) first_seen.set_value();
         seen += stream == Stream::err ? "(err)" : "";
         seen += data;
       }});
  if (seen.empty()) first_seen.set_value();
  answer.join();
  EXPECT_EQ(seen, "one\n(err)two\nthree\n");
  EXPECT_EQ(result.stdout_data, "");
  EXPECT_EQ(result.exit_code, 0) << result.reason;
}

TEST(Run, BigDataThroughAPipe) {
  EXPECT_EQ(output_of("head -c 20000000 /dev/zero | wc -c"), "20000000\n");
  EXPECT_EQ(output_of("seq 1 200000 | sort -n | tail -1"), "200000\n");
}

}  // namespace
}  // namespace cloche::testing

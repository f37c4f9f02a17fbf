// SPDX-License-Identifier: Apache-2.0
// isolation=gvisor: what a sandbox behind gVisor promises, and how it says what is not there.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "native/host/test_image_testing.h"
#include "sandbox/native/gvisor_testing.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/native/trial.h"

namespace cloche::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::uint64_t mib = 1 << 20;

struct Process {
  pid_t pid = 0;
  std::string word;  // the first of its command
};

std::vector<Process> descendants_of(pid_t parent) {
  std::vector<Process> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // One that has gone meanwhile has none.
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos || end + 4 >= stat.size() || stat[end + 2] == 'Z') continue;
    if (std::atoi(stat.c_str() + end + 4) != parent) continue;
    Process one{.pid = std::atoi(name.c_str()), .word = {}};
    std::ifstream command(entry.path() / "cmdline");
    std::getline(command, one.word, '\0');
    const std::vector<Process> below = descendants_of(one.pid);
    found.push_back(std::move(one));
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

std::size_t gvisors_of(pid_t parent) {
  const std::vector<Process> all = descendants_of(parent);
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [](const Process& one) { return one.word.starts_with("runsc"); }));
}

class Gvisor : public testing::Test {
 protected:
  void SetUp() override {
    if (!no_gvisor_here().empty()) GTEST_SKIP() << no_gvisor_here();
    std::string name = (fs::temp_directory_path() / "cloche-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    store_ = name;
    fs::permissions(store_, fs::perms(0755));
    ::setenv("CLOCHE_IMAGES", name.c_str(), 1);
    parts_ = std::make_unique<NativeParts>("/nowhere");
    parts_->images().import(native::test_image(), "test");
    sandbox_ = make();
  }
  void TearDown() override {
    sandbox_.reset();
    parts_.reset();
    std::error_code error;
    if (!store_.empty()) fs::remove_all(store_, error);
  }

  static SandboxOptions usual(SandboxOptions options = {}) {
    options.engine = EngineKind::native_linux;
    options.isolation = Isolation::gvisor;
    options.image = "test";
    return options;
  }
  std::unique_ptr<Backend> make(SandboxOptions options = {}) {
    return make_native_backend(*parts_, usual(std::move(options)));
  }
  static RunResult run(Backend& sandbox, const std::string& script, RunOptions options = {}) {
    options.script = script;
    return sandbox.run(options);
  }
  RunResult run(const std::string& script, RunOptions options = {}) {
    return run(*sandbox_, script, std::move(options));
  }
  // What it says and how it ends, in one text.
  std::string told(const std::string& script) {
    const RunResult result = run(script);
    return result.stdout_data + result.stderr_data +
           (result.exit_code == 0 ? "" : "status " + std::to_string(result.exit_code) + "\n");
  }
  std::string refusal_of(SandboxOptions options) {
    try {
      (void)make(std::move(options));
    } catch (const Error& problem) {
      return problem.what();
    }
    return "none";
  }

  fs::path store_;
  std::unique_ptr<NativeParts> parts_;
  std::unique_ptr<Backend> sandbox_;
};

TEST_F(Gvisor, ItsKernelIsAnother) {
  std::ifstream file("/proc/sys/kernel/osrelease");
  std::string ours;
  std::getline(file, ours);
  EXPECT_NE(told("uname -r"), ours + "\n");
  EXPECT_NE(told("cat /proc/version").find("-gvisor "), std::string::npos)
      << told("cat /proc/version");
}

TEST_F(Gvisor, RunsScriptsAndPrograms) {
  const RunResult result = run("echo hello | tr a-z A-Z; echo oops >&2; exit 7");
  EXPECT_EQ(result.status, RunStatus::exited);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.stdout_data, "HELLO\n");
  EXPECT_EQ(result.stderr_data, "oops\n");
  RunOptions program;
  program.argv = {"cat"};
  for (int i = 0; i < 300'000; ++i) program.stdin_data.push_back(static_cast<char>(i * 7));
  EXPECT_TRUE(sandbox_->run(program).stdout_data == program.stdin_data);
  RunOptions missing;
  missing.argv = {"no-such-program"};
  EXPECT_EQ(sandbox_->run(missing).reason,
            "cannot start no-such-program: No such file or directory");
  EXPECT_EQ(told("kill -TERM $$"), "status 143\n");
}

TEST_F(Gvisor, FilesGoInAndOut) {
  FileBackend& files = sandbox_->files(Account::user);
  const std::string content(300'000, '\xff');
  ASSERT_TRUE(files.write("a/b.bin", content, 0600).ok());
  ASSERT_TRUE(files.append("a/b.bin", "end").ok());
  EXPECT_EQ(told("stat -c '%s %a' a/b.bin; tail -c 3 a/b.bin"), "300003 600\nend");
  EXPECT_TRUE(*files.read("a/b.bin", mib) == content + "end");
  EXPECT_EQ(told("mkdir x; echo 1 >x/1.log; ln -s 1.log x/link"), "");
  EXPECT_EQ(files.link_stat("x/link")->target, "1.log");
  EXPECT_EQ(*files.glob("**/*.log"), std::vector<std::string>{"x/1.log"});
  EXPECT_EQ(files.read("nowhere", 1).error(), Errno::noent);
  // The image's own: changed and removed here alone.
  EXPECT_EQ(told("echo changed >/etc/passwd && cat /etc/passwd; rm /usr/bin/head; head"),
            "changed\nbash: line 1: head: command not found\nstatus 127\n");
  EXPECT_EQ(run(*make(), "head -c 2 /dev/zero | wc -c").stdout_data, "2\n");
}

TEST_F(Gvisor, FilesHaveAQuota) {
  SandboxOptions small;
  small.file_limit_bytes = 8 * mib;
  small.file_limit_inodes = 100;
  sandbox_ = make(small);
  EXPECT_NE(told("head -c 20000000 /dev/zero >big").find("No space left"), std::string::npos);
  EXPECT_LE(sandbox_->files(Account::user).stat("big")->size_bytes, 8 * mib);
  EXPECT_NE(
      told("rm big; for ((i = 0; i < 200; ++i)); do echo >f$i || exit; done").find("status 1"),
      std::string::npos);
  EXPECT_NE(told("rm f*; head -c 20000000 /dev/zero >/dev/shm/big").find("No space left"),
            std::string::npos);
  EXPECT_NE(told("rm /dev/shm/big; head -c 20000000 /dev/zero >/tmp/big").find("No space left"),
            std::string::npos);
}

TEST_F(Gvisor, MemoryHasALimit) {
  SandboxOptions small;
  small.memory_limit_bytes = 128 * mib;
  sandbox_ = make(small);
  const RunResult result = run("exec tail /dev/zero");
  EXPECT_EQ(result.status, RunStatus::signaled);
  EXPECT_NE(result.reason.find("more memory"), std::string::npos) << result.reason;
  EXPECT_EQ(told("echo still"), "still\n");
  EXPECT_LT(sandbox_->usage().memory_bytes, small.memory_limit_bytes);
}

// What is in pipes is of gVisor's own memory, which no process is ended for: the sandbox is.
TEST_F(Gvisor, MemoryOfGvisorsOwnHasALimit) {
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  SandboxOptions small;
  small.memory_limit_bytes = 256 * mib;
  sandbox_ = make(small);
  RunOptions program;
  program.timeout = milliseconds(60'000);
  program.argv = {"python3", "-c", R"(
import os
kept = []
for child in range(40):
    if os.fork() == 0:
        for i in range(480):
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            try:
                while True: os.write(writing, b'x' * 65536)
            except BlockingIOError: pass
        os.read(os.pipe()[0], 1)
os.wait()
)"};
  const RunResult result = sandbox_->run(program);
  EXPECT_EQ(result.status, RunStatus::signaled) << result.reason << result.stderr_data;
  EXPECT_NE(run("true").status, RunStatus::exited);
  EXPECT_EQ(run(*make(), "echo others").stdout_data, "others\n");
}

TEST_F(Gvisor, AForkBombHasALimit) {
  SandboxOptions small;
  small.process_limit = 4;  // 32 threads
  sandbox_ = make(small);
  RunOptions brief;
  brief.timeout = milliseconds(3000);
  auto running = std::async(std::launch::async, [&] {
    return run("for ((i = 0; i < 100; ++i)); do sleep 1000 & done; wait", brief);
  });
  std::size_t most = 0;
  while (running.wait_for(milliseconds(50)) != std::future_status::ready)
    most = std::max(most, sandbox_->usage().processes);
  EXPECT_EQ(running.get().status, RunStatus::timed_out);
  EXPECT_GT(most, 20U);
  EXPECT_LE(most, 34U);  // with pid 1 and a file server, which is not there
  (void)run("f() { f | f & }; f; sleep 100", brief);
  EXPECT_EQ(told("echo still"), "still\n");
}

TEST_F(Gvisor, ATimeLimitEndsAllOfARun) {
  RunOptions options;
  options.timeout = milliseconds(1000);
  const RunResult result = run("(setsid sleep 1000 &); echo begun; sleep 1000", options);
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(result.stdout_data, "begun\n");
  EXPECT_EQ(result.reason, "the command was stopped at its time limit of 1000 ms");
  EXPECT_TRUE(sandbox_->processes().empty());
  EXPECT_EQ(run("sleep 1000 & echo $! >pid").exit_code, 0);
  EXPECT_EQ(told("kill $(cat pid) && echo was there"), "was there\n");
}

TEST_F(Gvisor, CancelEndsRuns) {
  RunOptions options;
  std::promise<void> begun;
  options.output = [&](Stream, std::string_view) { begun.set_value(); };
  auto running =
      std::async(std::launch::async, [&] { return run("echo up; sleep 1000", options); });
  begun.get_future().wait();
  sandbox_->cancel();
  EXPECT_EQ(running.get().status, RunStatus::killed);
  EXPECT_EQ(told("echo still"), "still\n");
}

TEST_F(Gvisor, ATerminalIsOne) {
  std::promise<void> ready;
  std::string seen;
  LiveRunOptions options;
  options.terminal = TerminalSize{.rows = 33, .columns = 77};
  options.command.argv = {"bash", "--norc"};
  std::mutex mutex;
  options.command.output = [&](Stream, std::string_view bytes) {
    const std::lock_guard lock(mutex);
    seen += bytes;
  };
  const auto live = sandbox_->start(std::move(options));
  const auto has = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    return seen.find(text) != std::string::npos;
  };
  const auto comes = [&](std::string_view text) {
    for (int i = 0; i < 4000 && !has(text); ++i) std::this_thread::sleep_for(milliseconds(5));
    return has(text);
  };
  ASSERT_TRUE(live->write_all("tty; stty size; echo $((6 * 7))\n").ok());
  EXPECT_TRUE(comes("42")) << seen;
  EXPECT_TRUE(has("/dev/pts/0")) << seen;
  EXPECT_TRUE(has("33 77")) << seen;
  live->resize({.rows = 44, .columns = 88});
  // What is typed goes another way than its size.
  ASSERT_TRUE(live->write_all("until [ \"$(stty size)\" = '44 88' ]; do sleep 0.05; done; "
                              "echo s''leeps; sleep 1000\n")
                  .ok());
  EXPECT_TRUE(comes("\nsleeps")) << seen;
  // Whoever is in the foreground hears of it: the shell, until the program has begun.
  const auto runs = [&] {
    return std::ranges::any_of(sandbox_->processes(), [](const ProcessInfo& one) {
      return one.command.starts_with("sleep 1000");
    });
  };
  for (int i = 0; i < 2000 && !runs(); ++i) std::this_thread::sleep_for(milliseconds(5));
  for (int i = 0; i < 100 && runs(); ++i) {
    ASSERT_TRUE(live->write_all("\003").ok());
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_FALSE(runs()) << seen;
  ASSERT_TRUE(live->write_all("exit 9\n").ok());
  const std::optional<RunResult> result = live->wait_for(milliseconds(20'000));
  ASSERT_TRUE(result.has_value()) << seen;
  EXPECT_EQ(result->exit_code, 9) << seen;
}

TEST_F(Gvisor, AKeptShellKeepsItsState) {
  RunOptions kept;
  kept.shell = ShellState::kept;
  EXPECT_EQ(run("x=5; cd /tmp; f() { echo $x$PWD; }", kept).exit_code, 0);
  EXPECT_EQ(run("f", kept).stdout_data, "5/tmp\n");
  const auto fork = sandbox_->fork([] {});
  EXPECT_EQ(run(*fork, "f", kept).stdout_data, "5/tmp\n");
}

TEST_F(Gvisor, PythonIsKeptAndBeginsAnewInAFork) {
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  EXPECT_EQ(sandbox_->run_python("x = 41", {}).exit_code, 0);
  EXPECT_EQ(sandbox_->run_python("print(x + 1)", {}).stdout_data, "42\n");
  const auto fork = sandbox_->fork([] {});
  const RunResult anew = fork->run_python("print('x' in globals())", {});
  EXPECT_EQ(anew.stdout_data, "False\n");
  EXPECT_EQ(anew.reason,
            "the live Python is not in this fork: behind gVisor an interpreter cannot be frozen, "
            "and began anew");
  PythonOptions brief;
  brief.timeout = milliseconds(500);
  EXPECT_EQ(sandbox_->run_python("while True: pass", brief).status, RunStatus::timed_out);
}

TEST_F(Gvisor, AForkHasFilesAndEnvironment) {
  sandbox_->set_environment("COLOUR", "green");
  EXPECT_EQ(told("echo 1 >kept; rm /usr/bin/head; mkdir -p /etc/new; sleep 1000 >/dev/null &"), "");
  const auto fork = sandbox_->fork([] {});
  EXPECT_EQ(run(*fork, "cat kept; ls -d /etc/new /usr/bin/head; echo $COLOUR").stdout_data,
            "1\n/etc/new\ngreen\n");
  EXPECT_TRUE(fork->processes().empty());
  EXPECT_EQ(run(*fork, "echo 2 >kept").exit_code, 0);
  EXPECT_EQ(told("cat kept"), "1\n");
  const auto saved = sandbox_->save();
  const auto restored = make();
  ASSERT_TRUE(restored->load(*saved).ok());
  EXPECT_EQ(run(*restored, "cat kept; ls /usr/bin/head 2>&1 | wc -l").stdout_data, "1\n1\n");
}

TEST_F(Gvisor, APortIsForwarded) {
  if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  EXPECT_EQ(sandbox_->connect(4321, [] {}).error(), Errno::connrefused);
  LiveRunOptions options;
  options.command.argv = {"python3", "-c",
                          "import socket; s = socket.create_server(('127.0.0.1', 4321)); "
                          "print('up', flush=True); c, _ = s.accept(); "
                          "data = b''.join(iter(lambda: c.recv(65536), b'')); "
                          "c.sendall(b'got %d' % len(data)); c.close()"};
  std::promise<void> up;
  options.command.output = [&](Stream stream, std::string_view) {
    if (stream == Stream::out) up.set_value();
  };
  const auto server = sandbox_->start(std::move(options));
  up.get_future().wait();
  auto connection = sandbox_->connect(4321, [] {});
  ASSERT_TRUE(connection.ok());
  std::string sent(200'000, 'x'), answer;
  for (std::string_view rest = sent; !rest.empty();) {
    const Result<std::size_t> done = (*connection)->write(rest);
    if (done) rest.remove_prefix(*done);
    if (!done) std::this_thread::sleep_for(milliseconds(1));
  }
  (*connection)->close_input();
  for (int i = 0; i < 5000; ++i) {
    std::array<char, 100> piece{};
    const Result<std::size_t> got = (*connection)->read(piece);
    if (got && *got == 0) break;
    if (got) answer.append(piece.data(), *got);
    if (!got) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(answer, "got 200000");
}

TEST_F(Gvisor, WhatIsNotThereIsRefused) {
  SandboxOptions network;
  network.network.allow = {"example.com"};
  EXPECT_EQ(refusal_of(network),
            "a sandbox with isolation=gvisor has no network: leave the rules out, or choose "
            "isolation=full");
  SandboxOptions mounts;
  mounts.mounts = {{.host_path = "/tmp", .guest_path = "/data"}};
  EXPECT_NE(refusal_of(mounts).find("no folders of the host"), std::string::npos);
  SandboxOptions commands;
  commands.commands = {{.name = "ask"}};
  EXPECT_NE(refusal_of(commands).find("no commands of the host"), std::string::npos);
  EXPECT_THROW(sandbox_->set_network_rules({"example.com"}), Error);
  EXPECT_THROW(sandbox_->set_commands({{.name = "ask"}}), Error);
  EXPECT_NE(told("(echo >/dev/tcp/9.9.9.9/53) 2>&1").find("status 1"), std::string::npos);
}

TEST_F(Gvisor, ItsInitIsNoGuests) {
  EXPECT_EQ(told("for s in TERM KILL STOP; do kill -$s 1 2>/dev/null; done; echo still"),
            "still\n");
  EXPECT_EQ(told("trap '' TERM; kill -TERM -1 2>/dev/null; echo still"), "still\n");
  for (const char* file : {"environ", "mem", "maps", "auxv"})
    EXPECT_NE(told(std::string("cat /proc/1/") + file).find("status 1"), std::string::npos) << file;
  EXPECT_NE(told("cat /proc/1/fd/3").find("Permission denied"), std::string::npos);
  EXPECT_NE(told("readlink /proc/1/exe").find("status 1"), std::string::npos);
  EXPECT_NE(told("echo x >/proc/sys/kernel/hostname").find("status 1"), std::string::npos);
  EXPECT_NE(told("mount -t tmpfs none /mnt").find("status"), std::string::npos);
  EXPECT_NE(told("unshare -Ur true").find("status"), std::string::npos);
  EXPECT_EQ(told("ls /plan /cloche /image /storage /groups 2>/dev/null | wc -l"), "0\n");
  EXPECT_EQ(told("grep -c . /proc/self/mountinfo >/dev/null; grep -c cloche /proc/mounts"),
            "0\nstatus 1\n");
}

// The guests of hostile_test.cc, but for those that ask for numbers of the machine's kernel.
TEST_F(Gvisor, HostileGuestsAreHeld) {
  for (const char* name :
       {"calls_the_kernel", "climbs_by_descriptors", "climbs_out", "kills_init", "makes_mounts",
        "makes_namespaces", "makes_setuid_programs", "opens_sockets", "uses_old_calls"}) {
    std::ifstream file(std::string(CLOCHE_NATIVE_GUESTS_DIR "/") + name, std::ios::binary);
    const std::string program(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(program.empty()) << name;
    ASSERT_TRUE(sandbox_->files(Account::user).write("guest", program, 0755).ok());
    EXPECT_EQ(told("./guest"), "held\n") << name;
  }
}

TEST_F(Gvisor, AnotherUserIsAtHome) {
  SandboxOptions user;
  user.user = "1000:1001";
  user.home = "/home/somebody";
  sandbox_ = make(user);
  EXPECT_EQ(told("id -u; id -g; pwd; touch f && echo ok; stat -c %u /etc/passwd"),
            "1000\n1001\n/home/somebody\nok\n1000\n");
}

TEST_F(Gvisor, TwoAreApart) {
  const auto other = make();
  EXPECT_EQ(run(*other, "echo secret >/tmp/mine; sleep 1000 >/dev/null & uname -n").exit_code, 0);
  EXPECT_EQ(told("ls /tmp; ps ax -o args= | grep -c '^sleep'"), "0\nstatus 1\n");
}

// What a box of the other isolation has left resting is none of its.
TEST_F(Gvisor, BothIsolationsStandSideBySide) {
  SandboxOptions other = usual();
  other.isolation = Isolation::full;
  for (int i = 0; i < 3; ++i) {
    const auto full = make_native_backend(*parts_, other);
    EXPECT_EQ(run(*full, "grep -c gvisor /proc/version").stdout_data, "0\n");
    const auto behind = make();
    EXPECT_EQ(run(*behind, "grep -c gvisor /proc/version").stdout_data, "1\n");
  }
}

TEST_F(Gvisor, OneThatWaitsIsGivenToWhoWantsTheSame) {
  constexpr std::size_t waiting = 2;
  const native::BoxPool& pool = parts_->warden().pool();
  const auto is_filled = [&] {
    for (int i = 0; i < 6000 && pool.ready() < waiting; ++i)
      std::this_thread::sleep_for(milliseconds(5));
    return pool.ready() == waiting;
  };
  (void)make();  // the second
  ASSERT_TRUE(is_filled());
  SandboxOptions others;
  others.file_limit_bytes = 8 * mib;
  EXPECT_NE(run(*make(others), "head -c 20000000 /dev/zero >big").exit_code, 0);
  EXPECT_EQ(pool.ready(), waiting);

  std::this_thread::sleep_for(milliseconds(1500));
  const auto given = make();
  EXPECT_GT(std::stod(run(*given, "cat /proc/uptime").stdout_data), 1.4);
  EXPECT_EQ(run(*given, "pwd; ls -A . /tmp | wc -l").stdout_data, "/workspace\n3\n");

  ASSERT_TRUE(is_filled());
  for (const Process& one : descendants_of(::getpid())) {
    if (one.word.starts_with("runsc")) ::kill(one.pid, SIGKILL);
  }
  while (gvisors_of(::getpid()) > 0) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(run(*make(), "echo lives").stdout_data, "lives\n");
}

TEST_F(Gvisor, TwentyInARowLeaveNothing) {
  sandbox_.reset();
  ::setenv("CLOCHE_READY_BOXES", "0", 1);
  parts_ = std::make_unique<NativeParts>("/nowhere");
  ::unsetenv("CLOCHE_READY_BOXES");
  for (int i = 0; i < 20; ++i) {
    const auto sandbox = make();
    ASSERT_EQ(run(*sandbox, "sleep 1000 >/dev/null 2>&1 & echo here").stdout_data, "here\n");
  }
  for (int i = 0; i < 400 && gvisors_of(::getpid()) > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(gvisors_of(::getpid()), 0U);
}

// A host that is killed: another process, that has only begun with this one's memory.
TEST_F(Gvisor, TheDeathOfTheHostEndsAll) {
  EXPECT_GT(gvisors_of(::getpid()), 0U);
  sandbox_.reset();
  parts_.reset();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t host = ::fork();
  if (host == 0) {
    NativeParts parts("/nowhere");
    const auto sandbox = make_native_backend(parts, usual());
    RunOptions options;
    options.script = "setsid sleep 1000 >/dev/null 2>&1 & echo here";
    const RunResult result = sandbox->run(options);
    (void)!::write(ends[1], result.stdout_data.data(), result.stdout_data.size());
    for (;;) ::pause();
  }
  std::array<char, 16> said{};
  EXPECT_EQ(::read(ends[0], said.data(), said.size()), 5);
  const std::vector<Process> all = descendants_of(host);
  EXPECT_GT(all.size(), 3U);
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  const auto is_there = [](const Process& one) { return ::kill(one.pid, 0) == 0; };
  for (int i = 0; i < 1000 && std::ranges::any_of(all, is_there); ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(std::ranges::none_of(all, is_there));
  for (const int fd : ends) ::close(fd);
}

TEST(GvisorMissing, IsAnErrorWithItsRemedy) {
  ::setenv("CLOCHE_RUNSC", "/nowhere/runsc", 1);
  const std::string problem = try_native_sandbox("/nowhere", Isolation::gvisor).problem;
  ::unsetenv("CLOCHE_RUNSC");
  if (!native::no_boxes_here().empty()) GTEST_SKIP() << native::no_boxes_here();
  EXPECT_EQ(problem,
            "isolation=gvisor needs /nowhere/runsc, which cannot be opened (No such file or "
            "directory): mend that, name another runsc by CLOCHE_RUNSC, or choose isolation=full");
}

// It is a program, and no runsc.
TEST(GvisorMissing, WhatCannotStartIsSaid) {
  if (!native::no_boxes_here().empty()) GTEST_SKIP() << native::no_boxes_here();
  ::setenv("CLOCHE_RUNSC", "/bin/ls", 1);
  const std::string problem = try_native_sandbox("/nowhere", Isolation::gvisor).problem;
  ::unsetenv("CLOCHE_RUNSC");
  EXPECT_NE(problem.find("runsc ended before it was ready ("), std::string::npos) << problem;
}

}  // namespace
}  // namespace cloche::sandbox

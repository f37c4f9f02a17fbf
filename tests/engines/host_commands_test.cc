// SPDX-License-Identifier: Apache-2.0
// Functions of the host that are programs in a sandbox.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/refused_threads_testing.h"
#include "cloche/archive.h"
#include "engines_testing.h"
#include "native/host/test_image_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;

HostCommand command(std::string name, std::function<int(CommandCall&)> handler,
                    std::string description = "") {
  return {.name = std::move(name),
          .description = std::move(description),
          .handler = std::move(handler)};
}

// Its arguments, one a line.
int arguments(CommandCall& call) {
  for (const std::string& argument : call.arguments())
    (void)call.write(Stream::out, argument + "\n");
  return 0;
}

// What it reads.
int copy(CommandCall& call) {
  std::string piece(10'000, '\0');
  for (;;) {
    const Result<std::size_t> got = call.read(piece);
    if (!got || *got == 0) return got ? 0 : 1;
    if (!call.write(Stream::out, std::string_view(piece).substr(0, *got))) return 1;
  }
}

class HostCommands : public OnEachEngine {
 protected:
  std::unique_ptr<Sandbox> sandbox_with(std::vector<HostCommand> commands) const {
    SandboxOptions options;
    options.commands = std::move(commands);
    return make_sandbox(options);
  }

  std::string refusal_of(std::vector<HostCommand> commands) const {
    try {
      (void)sandbox_with(std::move(commands));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_P(HostCommands, AreProgramsInPipes) {
  const auto sandbox = sandbox_with({command("arguments", arguments), command("copy", copy)});
  const RunResult result =
      sandbox->run({.script = "arguments a 'b c' '' | copy | tr a-z A-Z | cat -n"});
  EXPECT_EQ(result.stdout_data, "     1\tA\n     2\tB C\n     3\t\n");
  EXPECT_EQ(sandbox->run({.argv = {"arguments", "direct"}}).stdout_data, "direct\n");
  EXPECT_EQ(sandbox->run({.argv = {"copy"}, .stdin_data = std::string("\0\xff", 2)}).stdout_data,
            std::string("\0\xff", 2));
  EXPECT_EQ(sandbox->run({.script = "copy < /dev/null; echo $?"}).stdout_data, "0\n");
}

TEST_P(HostCommands, HaveAStatusAPlaceAndAnEnvironment) {
  const auto sandbox = sandbox_with({command("tell", [](CommandCall& call) {
    (void)call.write(Stream::out, call.name() + " " + call.directory() + " " +
                                      call.environment().at("WORD") + "\n");
    (void)call.write(Stream::err, "aside\n");
    return 0x203;
  })});
  const RunResult result = sandbox->run({.script = "cd /tmp; WORD=x tell; echo $?"});
  EXPECT_EQ(result.stdout_data, "tell /tmp x\n3\n");
  EXPECT_EQ(result.stderr_data, "aside\n");
}

TEST_P(HostCommands, AreInThePath) {
  const auto sandbox = sandbox_with({command("look-up", arguments, "Looks things up.\nMore.")});
  EXPECT_EQ(
      sandbox->run({.script = "command -v look-up; type -t look-up; compgen -c look-"}).stdout_data,
      "/usr/local/bin/look-up\nfile\nlook-up\n");
  EXPECT_EQ(sandbox->run({.script = "look-up --help"}).stdout_data, "Looks things up.\nMore.\n");
  EXPECT_EQ(sandbox->run({.script = "look-up --help x"}).stdout_data, "--help\nx\n");
  EXPECT_EQ(sandbox->run({.script = "/usr/lib/cloche/host-command"}).stdout_data,
            "look-up\tLooks things up.\n");
  EXPECT_EQ(sandbox->run({.script = "bash /usr/local/bin/look-up by a shell"}).stdout_data,
            "by\na\nshell\n");
  if (is_linux() && !native::test_image_has_python()) return;
  EXPECT_EQ(sandbox
                ->run_python("import subprocess\nprint(subprocess.run(['look-up', 'x'], "
                             "capture_output=True).stdout)")
                .stdout_data,
            "b'x\\n'\n");
}

TEST_P(HostCommands, TakeNoInputThatTheyDoNotRead) {
  const auto sandbox = sandbox_with({command("arguments", arguments)});
  const RunResult result = sandbox->run(
      {.script = "while read line; do arguments $line; done", .stdin_data = "one\ntwo\n"});
  EXPECT_EQ(result.stdout_data, "one\ntwo\n");
}

TEST_P(HostCommands, AnExceptionIsPrinted) {
  const auto sandbox = sandbox_with(
      {command("fail", [](CommandCall&) -> int { throw std::runtime_error("there is nothing"); })});
  const RunResult result = sandbox->run({.script = "fail"});
  EXPECT_EQ(result.stderr_data, "fail: there is nothing\n");
  EXPECT_EQ(result.exit_code, 1);
}

TEST_P(HostCommands, EndByASignalTheirTimeAndAClosedPipe) {
  std::atomic<int> ended = 0;
  const auto sandbox = sandbox_with({
      command("silent",
              [](CommandCall& call) {
                EXPECT_EQ(call.wait({}).error(), Errno::canceled);
                return 0;
              }),
      command("endless",
              [&](CommandCall& call) {
                Result<void> written;
                while (written) written = call.write(Stream::out, "line\n");
                EXPECT_EQ(written.error(), Errno::canceled);
                ++ended;
                return 0;
              }),
  });
  EXPECT_EQ(sandbox->run({.script = "silent", .timeout = std::chrono::milliseconds(20)}).status,
            RunStatus::timed_out);
  EXPECT_EQ(sandbox->run({.script = "silent & kill $!; wait $!; echo $?"}).stdout_data, "143\n");
  EXPECT_EQ(sandbox->run({.script = "endless | head -2; echo ${PIPESTATUS[0]}"}).stdout_data,
            "line\nline\n141\n");
  EXPECT_EQ(sandbox->run({.script = "timeout 0.01 silent; echo $?"}).stdout_data, "124\n");
  while (ended != 1) std::this_thread::yield();
}

TEST_P(HostCommands, ACancelAndTheEndOfTheSandboxEndThem) {
  std::promise<void> first, second;
  std::array<std::promise<void>*, 2> begun{&first, &second};
  std::atomic<std::size_t> calls = 0;
  auto sandbox = sandbox_with({command("silent", [&](CommandCall& call) {
    begun.at(calls++)->set_value();
    return call.wait({}) ? 0 : 1;
  })});
  auto run = std::async(std::launch::async, [&] { return sandbox->run({.script = "silent"}); });
  first.get_future().get();
  sandbox->cancel();
  EXPECT_EQ(run.get().status, RunStatus::killed);
  (void)sandbox->run({.script = "silent > /dev/null 2>&1 &"});
  second.get_future().get();
  sandbox.reset();
}

TEST_P(HostCommands, ManyBytesBothWays) {
  const auto sandbox = sandbox_with({command("copy", copy)});
  const RunResult result = sandbox->run(
      {.script = "head -c 10000000 /dev/urandom > a; copy < a | cat | copy > b; echo $?"});
  EXPECT_EQ(result.stdout_data, "0\n") << result.stderr_data;
  const Result<std::string> sent = sandbox->files().read("a");
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->size(), 10'000'000U);
  const Result<std::string> arrived = sandbox->files().read("b");
  ASSERT_TRUE(arrived);
  EXPECT_TRUE(*arrived == *sent);
}

// Of the host's handler: what can go on, and what wakes it.
TEST_P(HostCommands, WaitForStreamsAndForTheHost) {
  std::promise<CommandCall*> begun;
  std::promise<void> heard;
  const auto sandbox =
      sandbox_with({command("woken",
                            [&](CommandCall& call) {
                              begun.set_value(&call);
                              const Result<CommandCall::Ready> ready = call.wait({.input = true});
                              heard.set_value();
                              return ready && !ready->input ? 7 : 1;
                            }),
                    command("ready", [](CommandCall& call) {
                      const Result<CommandCall::Ready> out = call.wait({.out = true, .err = true});
                      if (!out || !out->out || !out->err || out->input) return 1;
                      const Result<CommandCall::Ready> in = call.wait({.input = true});
                      std::string piece(8, '\0');
                      const Result<std::size_t> got = call.read(piece);
                      return in && in->input && got && *got == 2 ? 0 : 2;
                    })});
  EXPECT_EQ(sandbox->run({.script = "mkfifo /tmp/go"}).exit_code, 0);
  auto run = std::async(std::launch::async, [&] {
    return sandbox->run({.script = "{ read -r _ < /tmp/go; echo x; } | woken"});
  });
  begun.get_future().get()->wake();
  heard.get_future().get();
  EXPECT_EQ(sandbox->run({.script = "echo x > /tmp/go"}).exit_code, 0);
  EXPECT_EQ(run.get().exit_code, 7);
  EXPECT_EQ(sandbox->run({.script = "echo y | ready"}).exit_code, 0);
}

TEST_P(HostCommands, ManyCallsAtOnce) {
  const auto sandbox = sandbox_with({command("copy", copy)});
  std::vector<std::unique_ptr<LiveRun>> calls;
  for (int i = 0; i < 30; ++i) calls.push_back(sandbox->start({.command = {.argv = {"copy"}}}));
  for (const auto& call : calls) {
    EXPECT_TRUE(call->write_all("hello\n"));
    call->close_input();
  }
  for (const auto& call : calls) {
    const RunResult result = call->wait();
    EXPECT_EQ(result.stdout_data, "hello\n")
        << result.exit_code << result.stderr_data << result.reason;
  }
}

TEST_P(HostCommands, ManyCallsAreNoMoreThanProcesses) {
  if (is_linux()) GTEST_SKIP() << "there the limit counts what a program starts: see fork bombs";
  SandboxOptions options;
  options.process_limit = 20;
  options.commands = {command("silent", [](CommandCall& call) { return call.wait({}) ? 0 : 1; }),
                      command("quick", [](CommandCall&) { return 0; })};
  const auto sandbox = make_sandbox(options);
  EXPECT_EQ(sandbox->run({.script = "for i in {1..300}; do quick || exit 9; done"}).exit_code, 0);
  std::vector<std::unique_ptr<LiveRun>> calls;
  for (int i = 0; i < 30; ++i) calls.push_back(sandbox->start({.command = {.argv = {"silent"}}}));
  std::size_t refused = 0;
  for (const auto& call : calls) {
    call->kill();
    if (call->wait().status == RunStatus::not_started) ++refused;
  }
  EXPECT_EQ(refused, 10U);
  EXPECT_EQ(sandbox->run({.script = "echo there"}).stdout_data, "there\n");
}

TEST_P(HostCommands, ALongCommandLine) {
  const auto sandbox = sandbox_with({command("measure", [](CommandCall& call) {
    (void)call.write(Stream::out, std::to_string(call.arguments().size()) + " " +
                                      std::to_string(call.arguments().at(0).size()) + "\n");
    return 0;
  })});
  EXPECT_EQ(sandbox->run({.script = "measure $(head -c 100000 /dev/zero | tr '\\0' x) {1..9999}"})
                .stdout_data,
            "10000 100000\n");
  EXPECT_EQ(sandbox->run({.script = "measure $(head -c 200000 /dev/zero | tr '\\0' x)"}).exit_code,
            126);
}

TEST_P(HostCommands, NamesThatAreNoneOrTakenAreRefused) {
  for (const char* name : {"", "-x", ".x", "a/b", "a b", "\n", "ä"})
    EXPECT_THAT(refusal_of({command(name, arguments)}), HasSubstr("is no name of a command"))
        << name;
  EXPECT_THAT(refusal_of({command(std::string(65, 'a'), arguments)}), HasSubstr("64 at most"));
  EXPECT_THAT(refusal_of({command("ls", arguments)}), HasSubstr("/bin/ls of its own"));
  EXPECT_THAT(refusal_of({command("cd", arguments)}), HasSubstr("a word of the shell's own"));
  EXPECT_THAT(refusal_of({command("a", arguments), command("a", copy)}), HasSubstr("two commands"));
  EXPECT_THAT(refusal_of({command("a", {})}), HasSubstr("no handler"));
  EXPECT_THAT(refusal_of({command("a", arguments, std::string(70'000, 'x'))}), HasSubstr("65536"));
  std::vector<HostCommand> many;
  for (int i = 0; i < 257; ++i) many.push_back(command("c" + std::to_string(i), arguments));
  EXPECT_THAT(refusal_of(many), HasSubstr("256"));
  many.pop_back();
  EXPECT_EQ(refusal_of(many), "");
}

TEST_P(HostCommands, CanBeSetLater) {
  const auto sandbox = sandbox_with({command("one", arguments), command("both", arguments)});
  sandbox->set_commands({command("two", arguments), command("both", copy)});
  const RunResult result = sandbox->run({.script = "two x; echo y | both; one"});
  EXPECT_EQ(result.stdout_data, "x\ny\n");
  EXPECT_EQ(result.exit_code, 127);
  (void)sandbox->run({.script = "mkdir -p /workspace/.local/bin"});
  EXPECT_THROW(sandbox->set_commands({command("three", arguments), command("ls", copy)}), Error);
  EXPECT_EQ(sandbox->run({.script = "two x; three"}).exit_code, 127);
  EXPECT_EQ(sandbox->commands().size(), 2U);
  sandbox->set_commands({});
  EXPECT_EQ(sandbox->run({.script = "ls /usr/local/bin"}).stdout_data, "");
}

#if !defined(CLOCHE_SANITIZED)

TEST_P(HostCommands, AreRefusedWhereTheHostGivesNoThread) {
  if (!is_linux()) GTEST_SKIP() << "the other engine takes no thread to listen";
  const auto sandbox = sandbox_with({});
  {
    const RefusedThreads none;
    EXPECT_THROW(sandbox->set_commands({command("copy", copy)}), Error);
  }
  EXPECT_TRUE(sandbox->commands().empty());
  sandbox->set_commands({command("copy", copy)});
  EXPECT_EQ(sandbox->run({.script = "echo x | copy"}).stdout_data, "x\n");
}

#endif

TEST_P(HostCommands, ForksHaveThem) {
  const auto sandbox = sandbox_with({});
  sandbox->set_commands({command("copy", copy)});
  const auto twin = sandbox->fork();
  sandbox->set_commands({});
  EXPECT_EQ(twin->run({.script = "echo x | copy"}).stdout_data, "x\n");
  EXPECT_EQ(twin->commands().size(), 1U);
}

TEST_P(HostCommands, AStateThatIsSavedHasNone) {
  if (is_linux()) GTEST_SKIP() << "the linux engine has no exported states";
  const auto sandbox = sandbox_with({command("copy", copy)});
  const auto state = export_state(*sandbox, 1 << 28);
  ASSERT_TRUE(state);
  const auto bare = import_state(engine(), {}, *state);
  ASSERT_TRUE(bare);
  EXPECT_EQ((*bare)->run({.script = "copy"}).exit_code, 127);
  SandboxOptions options;
  options.commands = {command("copy", copy)};
  const auto served = import_state(engine(), options, *state);
  ASSERT_TRUE(served);
  EXPECT_EQ((*served)->run({.script = "echo x | copy"}).stdout_data, "x\n");
}

TEST_P(HostCommands, WhatAGuestDoesWithTheFilesHarmsItAlone) {
  const auto sandbox = sandbox_with({command("copy", copy), command("arguments", arguments)});
  const RunResult result =
      sandbox->run({.script = "/usr/lib/cloche/host-command arguments x direct; "
                              "/usr/lib/cloche/host-command nonesuch x; echo $?; "
                              "exec -a other /usr/lib/cloche/host-command",
                    .account = Account::root});
  EXPECT_EQ(result.stdout_data, "direct\n126\narguments\t\ncopy\t\n");
  EXPECT_EQ(sandbox->run({.script = "rm /usr/local/bin/copy", .account = Account::root}).exit_code,
            0);
  EXPECT_EQ(sandbox->run({.script = "copy"}).exit_code, 127);
  sandbox->set_commands(sandbox->commands());
  EXPECT_EQ(sandbox->run({.script = "echo x | copy"}).stdout_data, "x\n");
}

CLOCHE_ON_EACH_ENGINE(HostCommands);

}  // namespace
}  // namespace cloche::testing

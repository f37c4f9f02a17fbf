// SPDX-License-Identifier: Apache-2.0
// A sandbox's first shell begins with one that has started elsewhere, and nobody can tell.
#include <cloche/engine.h>
#include <cloche/files.h>
#include <cloche/sandbox.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cloche::testing {
namespace {

std::string shell(Sandbox& sandbox, const std::string& script) {
  const RunResult result = sandbox.run({.script = script, .shell = ShellState::kept});
  EXPECT_EQ(result.stderr_data, "") << script;
  return result.stdout_data;
}

class StartedShell : public ::testing::Test {
 protected:
  // The first of a kind is made in the course of this, the others begin with it.
  std::vector<std::unique_ptr<Sandbox>> some(const SandboxOptions& options, int count = 3) {
    std::vector<std::unique_ptr<Sandbox>> made;
    for (int i = 0; i < count; ++i) made.push_back(engine_.create(options));
    return made;
  }

  Engine engine_{EngineOptions{.system_folder = CLOCHE_ROOTFS_DIR}};
};

// What a shell by itself says of these.
constexpr const char* question =
    "echo $PWD $OLDPWD $BASH $0 $- $SHLVL $HOSTNAME $PPID ~ $UID; declare -p | grep -v "
    "'^declare -[-airx]* \\(EPOCH\\|RANDOM\\|SRANDOM\\|SECONDS\\|BASHPID\\|BASH_ARGV\\|_=\\|PIPE\\|"
    "BASH_MONO\\|BASH_EXEC\\|BASHOPTS\\|SHELLOPTS\\|PPID\\)'; shopt; set -o; ulimit -a; trap; "
    "umask; jobs";

TEST_F(StartedShell, IsLikeOneThatStartsByItself) {
  const auto sandboxes = some({});
  const std::string first = shell(*sandboxes[0], question);
  EXPECT_NE(first.find("PATH="), std::string::npos);
  for (const auto& sandbox : sandboxes) {
    sandbox->restart_shell();
    EXPECT_EQ(shell(*sandbox, question), first);
  }
  // A file where bash looks for itself, and this one starts by itself.
  const auto other = engine_.create({});
  ASSERT_EQ(other
                ->run({.script = "mkdir -p /usr/local/sbin && ln -s /bin/true /usr/local/sbin/bash",
                       .account = Account::root})
                .exit_code,
            0);
  std::string own = shell(*other, question);
  const std::string is = "/usr/local/sbin/bash", was = "/usr/bin/bash";
  for (std::size_t at = own.find(is); at != std::string::npos; at = own.find(is))
    own.replace(at, is.size(), was);
  EXPECT_EQ(own, first);
}

TEST_F(StartedShell, HasItsOwnNumbersAndTime) {
  std::set<std::string> random;
  for (const auto& sandbox : some({}, 8)) {
    EXPECT_EQ(shell(*sandbox, "x=$(sh -c 'echo $PPID'); [ $x = $$ ] && echo same"), "same\n");
    random.insert(shell(*sandbox, "echo $RANDOM $RANDOM $SRANDOM"));
  }
  EXPECT_EQ(random.size(), 8U);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(shell(*engine_.create({}), "echo $((SECONDS < 2))"), "1\n");
}

TEST_F(StartedShell, IsOfTheSandboxsUserAndLimits) {
  for (int i = 0; i < 2; ++i) {
    const auto agent = engine_.create(
        {.process_limit = 20 + static_cast<unsigned>(i), .user = "agent", .home = "/home/agent"});
    EXPECT_EQ(shell(*agent, "echo $PWD $HOME ~ $(id -un); ulimit -u"),
              "/home/agent /home/agent /home/agent agent\n" + std::to_string(20 + i) + "\n");
  }
}

TEST_F(StartedShell, SeesTheFilesAsTheyAre) {
  const auto sandboxes = some({}, 2);
  EXPECT_EQ(shell(*sandboxes[0], "pwd"), "/workspace\n");
  ASSERT_EQ(
      sandboxes[1]
          ->run({.script = "sed -i s,:/workspace:,:/tmp:, /etc/passwd", .account = Account::root})
          .exit_code,
      0);
  EXPECT_EQ(shell(*sandboxes[1], "unset HOME; echo ~"), "/tmp\n");
}

// Many at once, of which one is the first.
TEST_F(StartedShell, CanBeginInManySandboxesAtOnce) {
  const auto sandboxes = some({}, 8);
  std::vector<std::string> outputs(sandboxes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sandboxes.size(); ++i) {
      threads.emplace_back([&, i] {
        outputs[i] = shell(*sandboxes[i], "x=" + std::to_string(i) + "; echo $x");
        outputs[i] += shell(*sandboxes[i], "echo $x");
      });
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_EQ(outputs[i], std::to_string(i) + "\n" + std::to_string(i) + "\n");
}

}  // namespace
}  // namespace cloche::testing

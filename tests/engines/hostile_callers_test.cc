// SPDX-License-Identifier: Apache-2.0
// Guests that call the commands of the host by hand: they gain nothing but calls.
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>

#include "engines_testing.h"

namespace cloche::testing {
namespace {

class HostileCallers : public OnEachEngine {
 protected:
  std::unique_ptr<Sandbox> sandbox_with(std::function<int(CommandCall&)> handler) const {
    SandboxOptions options;
    options.open_file_limit = 1024;
    options.commands = {{.name = "taker", .description = "", .handler = std::move(handler)}};
    return make_sandbox(options);
  }

  static void put_guest(Sandbox& sandbox, const std::string& name) {
    std::ifstream file(CLOCHE_NATIVE_GUESTS_DIR "/" + name, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(content.empty());
    ASSERT_TRUE(sandbox.files().write("/tmp/guest", content));
    ASSERT_TRUE(sandbox.files().change_mode("/tmp/guest", 0755));
  }
};

TEST_P(HostileCallers, HeadsAndRepliesThatLieEndTheirOwnCall) {
  std::atomic<int> wrong = 0;
  const auto sandbox = sandbox_with([&](CommandCall& call) {
    std::string piece(100, '\0');
    const Result<std::size_t> got = call.read(piece);
    if (got && *got > piece.size()) ++wrong;
    return got ? 0 : 3;
  });
  put_guest(*sandbox, "calls_the_host_by_hand");
  const RunResult result = sandbox->run({.script = "/tmp/guest taker"});
  EXPECT_EQ(result.stdout_data, "held\n")
      << result.stderr_data << result.reason << result.exit_code;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sandbox->run({.script = "echo x | taker"}).exit_code, 0);
}

// A name that a guest has taken before is its own loss, and is said.
TEST_P(HostileCallers, AGuestThatSitsInThePlaceIsAnError) {
  const auto sandbox = make_sandbox();
  const std::string sit =
      "import os, socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0cloche-host-commands'); "
      "s.listen(); open('/tmp/up', 'w').close(); s.accept()";
  const auto sitter = sandbox->start(
      {.command = {.script = "mkfifo /tmp/up; python3 -c \"" + sit + "\"; echo gone > /tmp/up"}});
  if (sandbox->run({.script = "until [ -p /tmp/up ]; do :; done; cat /tmp/up"}).stdout_data != "")
    GTEST_SKIP() << "this machine has no python3";
  EXPECT_THROW(
      sandbox->set_commands(
          {{.name = "taker", .description = "", .handler = [](CommandCall&) { return 0; }}}),
      Error);
  EXPECT_TRUE(sandbox->commands().empty());
}

INSTANTIATE_TEST_SUITE_P(Linux, HostileCallers, ::testing::Values(EngineKind::native_linux));

}  // namespace
}  // namespace cloche::testing

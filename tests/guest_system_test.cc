// SPDX-License-Identifier: Apache-2.0
// The guests of userland/tests: each prints a line a case, and beside its source lies what it must
// print.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class GuestSystem : public ::testing::TestWithParam<std::string> {};

TEST_P(GuestSystem, PrintsWhatItShould) {
  const std::filesystem::path sources = CLOCHE_SOURCE_DIR "/userland/tests";
  const std::string expected = content_of(sources / (GetParam() + ".expected"));
  ASSERT_NE(expected, "");
  const auto sandbox = make_sandbox({.mounts = {{.host_path = CLOCHE_GUESTS_DIR,
                                                 .guest_path = "/mnt",
                                                 .access = Mount::Access::read_only}}});
  const RunResult result = sandbox->run({.script = "/mnt/" + GetParam() + ".wasm"});
  EXPECT_EQ(result.stdout_data, expected) << result.reason << result.stderr_data;
  EXPECT_EQ(result.exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Userland, GuestSystem,
                         ::testing::Values("clone", "conversions", "mmap", "setjmp", "signals",
                                           "sorting", "terminal", "vfork"),
                         [](const auto& chosen) { return chosen.param; });

}  // namespace
}  // namespace cloche::testing

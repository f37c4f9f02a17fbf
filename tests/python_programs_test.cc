// SPDX-License-Identifier: Apache-2.0
// Programs as agents write them, in tests/python_programs: each prints what a native CPython
// printed, which is in the file beside it (NAME.out). A first line `# packages: a b` names what it
// needs.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

const std::filesystem::path folder =
    std::filesystem::path(CLOCHE_SOURCE_DIR) / "tests/python_programs";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> packages_of(const std::string& source) {
  constexpr std::string_view mark = "# packages: ";
  std::vector<std::string> names;
  if (!source.starts_with(mark)) return names;
  std::istringstream line(source.substr(mark.size(), source.find('\n') - mark.size()));
  for (std::string name; line >> name;) names.push_back(name);
  return names;
}

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".py") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class PythonProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(PythonProgram, PrintsWhatANativePythonPrints) {
  const std::string source = text_of(folder / (GetParam() + ".py"));
  const auto sandbox =
      make_sandbox({.timeout = std::chrono::minutes(4), .packages = packages_of(source)});
  ASSERT_TRUE(sandbox->files().write("/workspace/" + GetParam() + ".py", source));
  const RunResult result = sandbox->run({.argv = {"python3", GetParam() + ".py"}});
  EXPECT_EQ(result.stdout_data, text_of(folder / (GetParam() + ".out"))) << result.stderr_data;
  EXPECT_EQ(result.exit_code, 0) << result.reason << result.stderr_data;
}

INSTANTIATE_TEST_SUITE_P(Folder, PythonProgram, ::testing::ValuesIn(programs()),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
// The guests of tests/hostile: each is one attack, and says in its first lines under which limits
// it runs and how it must end. The sandbox and its neighbour go on as if nothing had been.
//
//   // limits: memory=96M files=1M inodes=64 processes=24 descriptors=64 time=200
//   // ends: exited STATUS | signaled NUMBER | timed_out
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

struct Attack {
  SandboxOptions options;
  std::chrono::milliseconds time{20'000};
  std::string end;  // "exited 0"
};

std::uint64_t number_of(const std::string& text) {
  std::size_t used = 0;
  const std::uint64_t value = std::stoull(text, &used);
  if (text.substr(used) == "M") return value << 20;
  if (text.substr(used).empty()) return value;
  throw std::invalid_argument(text);
}

void set_limit(Attack& attack, const std::string& name, std::uint64_t value) {
  SandboxOptions& options = attack.options;
  if (name == "memory") {
    options.memory_limit_bytes = value;
  } else if (name == "files") {
    options.file_limit_bytes = value;
  } else if (name == "inodes") {
    options.file_limit_inodes = value;
  } else if (name == "processes") {
    options.process_limit = static_cast<std::uint32_t>(value);
  } else if (name == "descriptors") {
    options.open_file_limit = static_cast<std::uint32_t>(value);
  } else if (name == "time") {
    attack.time = std::chrono::milliseconds(value);
  } else {
    throw std::invalid_argument(name);
  }
}

Attack attack_of(const std::filesystem::path& source) {
  Attack attack;
  std::ifstream file(source);
  for (std::string line; std::getline(file, line) && line.starts_with("//");) {
    std::istringstream words(line);
    std::string slashes, kind;
    words >> slashes >> kind;
    if (kind == "ends:") std::getline(words >> std::ws, attack.end);
    if (kind != "limits:") continue;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      set_limit(attack, word.substr(0, equals), number_of(word.substr(equals + 1)));
    }
  }
  return attack;
}

std::string end_of(const RunResult& result) {
  switch (result.status) {
    case RunStatus::exited: return "exited " + std::to_string(result.exit_code);
    case RunStatus::signaled: return "signaled " + std::to_string(result.signal);
    case RunStatus::timed_out: return "timed_out";
    case RunStatus::killed: return "killed";
    case RunStatus::not_started: return "not_started";
  }
  return {};
}

const std::filesystem::path sources = CLOCHE_SOURCE_DIR "/tests/hostile";

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(sources))
    if (entry.path().extension() == ".c") all.push_back(entry.path().stem());
  std::ranges::sort(all);
  return all;
}

class Hostile : public ::testing::TestWithParam<std::string> {};

TEST_P(Hostile, EndsAsItSays) {
  Attack attack = attack_of(sources / (GetParam() + ".c"));
  ASSERT_NE(attack.end, "");
  attack.options.mounts = {
      {.host_path = CLOCHE_GUESTS_DIR, .guest_path = "/mnt", .access = Mount::Access::read_only}};
  const auto neighbour = make_sandbox();
  const auto sandbox = make_sandbox(attack.options);
  const RunResult result = sandbox->run({.argv = {"/mnt/" + GetParam() + ".wasm"},
                                         .timeout = attack.time,
                                         .output_limit_bytes = 1 << 20});
  EXPECT_EQ(end_of(result), attack.end) << result.reason << result.stderr_data;
  EXPECT_LE(sandbox->usage().memory_bytes, attack.options.memory_limit_bytes);
  EXPECT_LE(sandbox->usage().file_bytes, attack.options.file_limit_bytes);
  sandbox->cancel();
  EXPECT_EQ(sandbox->run({.script = "echo alive | cat"}).stdout_data, "alive\n");
  EXPECT_EQ(sandbox->usage().processes, 0u);
  EXPECT_EQ(neighbour->run({.script = "echo unharmed | cat"}).stdout_data, "unharmed\n");
}

INSTANTIATE_TEST_SUITE_P(Guests, Hostile, ::testing::ValuesIn(names()),
                         [](const auto& chosen) { return chosen.param; });

}  // namespace
}  // namespace cloche::testing

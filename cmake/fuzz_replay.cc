// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once over each file given, each file in a folder given, and each line of a
// file NAME.base64: what is in the tree is a regression test in builds without libFuzzer. Exit 1
// when there was nothing to run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(std::string_view bytes) {
  // Its own memory, to its last byte: what reads beyond that is seen.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

int replay(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (path.extension() != ".base64") {
    run(std::string{std::istreambuf_iterator<char>(in), {}});
    return 1;
  }
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const std::optional<std::string> bytes = cloche::from_base64(line);
    if (!bytes) {
      std::fprintf(stderr, "%s: line %d is no base64\n", path.c_str(), count + 1);
      std::abort();
    }
    run(*bytes);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (!std::filesystem::is_directory(path)) {
      count += replay(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) count += replay(entry.path());
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}

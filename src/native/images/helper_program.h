// SPDX-License-Identifier: Apache-2.0
// A program of ours that does one thing with one folder, and says a sentence where it could not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cloche::images {

struct HelperCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  int input = -1;   // its standard input; -1: nothing
  int folder = -1;  // its descriptor 3
  // Whether it has this process's environment and standard error; otherwise an empty one, and what
  // it writes there is taken as said.
  enum class Surroundings : std::uint8_t { ours, none } surroundings = Surroundings::none;
};

struct HelperResult {
  bool is_done = false;  // its status was 0
  std::string said;      // on standard output: the start, without an end of line
};

// Waits for it. Throws HostError where it cannot be started.
HelperResult call_helper(const HelperCall& call);

}  // namespace cloche::images

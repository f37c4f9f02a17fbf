// SPDX-License-Identifier: Apache-2.0
// The program as people call it: command lines of this machine's bash, in which $CLOCHE is it.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cloche::testing {

struct Ended {
  int status = 0;
  std::string said;  // on both streams, but what the line sends elsewhere
};

inline Ended bash(const std::string& line) {
  ::setenv("CLOCHE", CLOCHE_BINARY_DIR "/bin/cloche", 1);
  ::setenv("LINE", line.c_str(), 1);
  std::FILE* pipe = ::popen("exec bash -c \"$LINE\" 2>&1", "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Ended ended;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    ended.said.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

extern char** environ;

namespace cloche::bench {

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

void print_rows(const std::vector<Row>& rows) {
  fmt::print("{:<44} {:>10} {:>10} {:>10} {:>7}  {}\n", "what (medians, ms)", "target", "cloche",
             "native", "ratio", "native is");
  for (const Row& row : rows) {
    std::vector<double> ours;
    std::vector<double> native;
    for (int warm = 0; warm < 2; ++warm) {
      row.ours();
      if (row.native) row.native();
    }
    for (int round = 0; round < row.rounds; ++round) {
      ours.push_back(row.ours());
      if (row.native) native.push_back(row.native());
    }
    const double a = median(ours);
    if (row.native) {
      const double b = median(native);
      fmt::print("{:<44} {:>10} {:>10.3f} {:>10.3f} {:>7.2f}  {}\n", row.name, row.target, a, b,
                 a / b, row.native_name);
    } else {
      fmt::print("{:<44} {:>10} {:>10.3f} {:>10} {:>7}\n", row.name, row.target, a, "", "");
    }
    std::fflush(stdout);
  }
}

void print_figures(const std::vector<Figure>& figures) {
  fmt::print("\n{:<44} {:>10} {:>10}\n", "figure", "target", "cloche");
  for (const Figure& figure : figures)
    fmt::print("{:<44} {:>10} {:>10}\n", figure.name, figure.target, figure.value);
}

void run_native(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + argv.front());
  ::waitpid(child, nullptr, 0);
}

}  // namespace cloche::bench

// SPDX-License-Identifier: Apache-2.0
// A program that has sandboxes of its own: one shared Engine, a Sandbox for each agent, files in
// and out, a fork.
#include <cloche/engine.h>

#include <iostream>

int main() try {
  cloche::Engine engine({});
  const auto sandbox = engine.create({.timeout = std::chrono::milliseconds(5'000)});

  if (!sandbox->files().write("words.txt", "pear\napple\nfig\n")) return 1;
  const cloche::RunResult sorted =
      sandbox->run({.script = "sort words.txt | tee sorted.txt | wc -l"});
  if (sorted.exit_code != 0) {
    std::cerr << "exit code " << sorted.exit_code << " " << sorted.reason << sorted.stderr_data;
    return 1;
  }
  std::cout << "lines: " << sorted.stdout_data;

  // A fork goes on from here with its own copy of everything.
  const auto fork = sandbox->fork();
  fork->run({.script = "echo zebra >> sorted.txt"});
  std::cout << "fork has:\n" << *fork->files().read("sorted.txt");
  std::cout << "original has:\n" << *sandbox->files().read("sorted.txt");

  const cloche::RunResult slow =
      sandbox->run({.script = "while :; do :; done", .timeout = std::chrono::milliseconds(200)});
  std::cout << "a loop without end: exit code " << slow.exit_code << ", " << slow.reason << "\n";
  return 0;
} catch (const cloche::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}

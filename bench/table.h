// SPDX-License-Identifier: Apache-2.0
// Promises measured in one run: what is ours and what it is compared with are timed in turn, so
// that a machine whose speed drifts is fair to both. Medians; a ratio only where there is something
// native to compare with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cloche::bench {

// Milliseconds that one call took.
using Timed = std::function<double()>;

struct Row {
  std::string name;
  std::string target;  // as promised, for a reader
  Timed ours;
  Timed native;             // may be empty
  std::string native_name;  // what it is
  int rounds = 30;
};

struct Figure {
  std::string name;
  std::string target;
  std::string value;
};

// Runs `body` once and says how long it took.
double milliseconds(const std::function<void()>& body);

double median(std::vector<double> values);

// Measures all rows and prints one table.
void print_rows(const std::vector<Row>& rows);
void print_figures(const std::vector<Figure>& figures);

// Starts a native program and waits for it; its output goes nowhere. Throws when it cannot be
// started.
void run_native(const std::vector<std::string>& argv);

}  // namespace cloche::bench

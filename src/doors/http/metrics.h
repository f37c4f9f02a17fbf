// SPDX-License-Identifier: Apache-2.0
// Metrics: counters and gauges in the text format of Prometheus. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::http {

class Metrics {
 public:
  // Adds to a counter. `labels` as they are written: code="200",method="GET"; or empty. The labels
  // must come from a small set, never from a client's text.
  void count(std::string_view name, std::string_view labels = {}, double amount = 1);
  // What a counter is for; shown before it.
  void describe(std::string_view name, std::string_view help);
  // Asked for when the page is made.
  void gauge(std::string_view name, std::string_view help, std::function<double()> value);

  std::string page() const;

 private:
  struct Gauge {
    std::string name;
    std::string help;
    std::function<double()> value;
  };
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, double>, std::less<>> counters_;
  std::map<std::string, std::string, std::less<>> help_;
  std::vector<Gauge> gauges_;
};

}  // namespace cloche::http

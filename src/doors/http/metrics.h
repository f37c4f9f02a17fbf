// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms of times in the text format of Prometheus. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

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

  // A histogram of times, and one of them.
  void describe_times(std::string_view name, std::string_view help);
  void observe(std::string_view name, double seconds);
  // Adds to what there is of something now, such as commands that run; a gauge.
  void describe_level(std::string_view name, std::string_view help);
  void change_level(std::string_view name, double amount);
  // Of a counter, whatever its labels; 0 where there is none.
  double sum(std::string_view name) const;

  std::string page() const;

  // Of the histograms: from what is done in memory to what is waited for.
  static constexpr std::array<double, 13> bounds_s{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1,
                                                   0.25,   0.5,   1,      2.5,   10,   60};

 private:
  struct Histogram {
    std::string help;
    std::array<std::uint64_t, bounds_s.size() + 1> counts{};  // the last: of what is above all
    double sum_s = 0;
  };
  struct Level {
    std::string help;
    double value = 0;
  };
  struct Gauge {
    std::string name;
    std::string help;
    std::function<double()> value;
  };
  mutable Mutex mutex_;
  std::map<std::string, std::map<std::string, double>, std::less<>> counters_ GUARDED_BY(mutex_);
  std::map<std::string, std::string, std::less<>> help_ GUARDED_BY(mutex_);
  std::vector<Gauge> gauges_ GUARDED_BY(mutex_);
  std::map<std::string, Histogram, std::less<>> histograms_ GUARDED_BY(mutex_);
  std::map<std::string, Level, std::less<>> levels_ GUARDED_BY(mutex_);
};

// One more of something, as long as it lives.
class RaisedLevel {
 public:
  RaisedLevel(Metrics& metrics, std::string_view name) : metrics_(metrics), name_(name) {
    metrics_.change_level(name_, 1);
  }
  ~RaisedLevel() { metrics_.change_level(name_, -1); }
  RaisedLevel(const RaisedLevel&) = delete;
  RaisedLevel& operator=(const RaisedLevel&) = delete;

 private:
  Metrics& metrics_;
  const std::string_view name_;  // of a literal
};

}  // namespace cloche::http

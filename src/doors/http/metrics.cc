// SPDX-License-Identifier: Apache-2.0
#include "doors/http/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace cloche::http {

void Metrics::count(std::string_view name, std::string_view labels, double amount) {
  const MutexLock lock(mutex_);
  counters_[std::string(name)][std::string(labels)] += amount;
}

void Metrics::describe(std::string_view name, std::string_view help) {
  const MutexLock lock(mutex_);
  help_.emplace(name, help);
  counters_[std::string(name)];
}

void Metrics::gauge(std::string_view name, std::string_view help, std::function<double()> value) {
  const MutexLock lock(mutex_);
  gauges_.push_back({std::string(name), std::string(help), std::move(value)});
}

void Metrics::describe_times(std::string_view name, std::string_view help) {
  const MutexLock lock(mutex_);
  histograms_[std::string(name)].help = help;
}

void Metrics::observe(std::string_view name, double seconds) {
  const MutexLock lock(mutex_);
  Histogram& histogram = histograms_[std::string(name)];
  const auto bucket = std::ranges::lower_bound(bounds_s, seconds) - bounds_s.begin();
  ++histogram.counts[static_cast<std::size_t>(bucket)];
  histogram.sum_s += seconds;
}

void Metrics::describe_level(std::string_view name, std::string_view help) {
  const MutexLock lock(mutex_);
  levels_[std::string(name)].help = help;
}

void Metrics::change_level(std::string_view name, double amount) {
  const MutexLock lock(mutex_);
  levels_[std::string(name)].value += amount;
}

double Metrics::sum(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = counters_.find(name);
  double all = 0;
  if (found == counters_.end()) return all;
  for (const auto& [labels, value] : found->second) all += value;
  return all;
}

std::string Metrics::page() const {
  std::string text;
  std::vector<Gauge> gauges;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, values] : counters_) {
      if (const auto it = help_.find(name); it != help_.end())
        text += fmt::format("# HELP {} {}\n", name, it->second);
      text += fmt::format("# TYPE {} counter\n", name);
      for (const auto& [labels, value] : values) {
        text += labels.empty() ? fmt::format("{} {}\n", name, value)
                               : fmt::format("{}{{{}}} {}\n", name, labels, value);
      }
    }
    for (const auto& [name, histogram] : histograms_) {
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, histogram.help);
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        count += histogram.counts[i];
        text += i < bounds_s.size()
                    ? fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_s[i], count)
                    : fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n", name, count);
      }
      text += fmt::format("{0}_sum {1}\n{0}_count {2}\n", name, histogram.sum_s, count);
    }
    for (const auto& [name, level] : levels_)
      text +=
          fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", name, level.help, level.value);
    gauges = gauges_;
  }
  for (const Gauge& gauge : gauges) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", gauge.name, gauge.help,
                        gauge.value());
  }
  return text;
}

}  // namespace cloche::http

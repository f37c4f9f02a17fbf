// SPDX-License-Identifier: Apache-2.0
#include "doors/http/metrics.h"

#include <fmt/format.h>

namespace cloche::http {

void Metrics::count(std::string_view name, std::string_view labels, double amount) {
  const std::lock_guard lock(mutex_);
  counters_[std::string(name)][std::string(labels)] += amount;
}

void Metrics::describe(std::string_view name, std::string_view help) {
  const std::lock_guard lock(mutex_);
  help_.emplace(name, help);
  counters_[std::string(name)];
}

void Metrics::gauge(std::string_view name, std::string_view help, std::function<double()> value) {
  const std::lock_guard lock(mutex_);
  gauges_.push_back({std::string(name), std::string(help), std::move(value)});
}

std::string Metrics::page() const {
  std::string text;
  std::vector<Gauge> gauges;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, values] : counters_) {
      if (const auto it = help_.find(name); it != help_.end())
        text += fmt::format("# HELP {} {}\n", name, it->second);
      text += fmt::format("# TYPE {} counter\n", name);
      for (const auto& [labels, value] : values) {
        text += labels.empty() ? fmt::format("{} {}\n", name, value)
                               : fmt::format("{}{{{}}} {}\n", name, labels, value);
      }
    }
    gauges = gauges_;
  }
  for (const Gauge& gauge : gauges) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0} {2}\n", gauge.name, gauge.help,
                        gauge.value());
  }
  return text;
}

}  // namespace cloche::http

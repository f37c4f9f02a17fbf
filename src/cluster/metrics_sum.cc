// SPDX-License-Identifier: Apache-2.0
#include "cluster/metrics_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace cloche::cluster {
namespace {

// Labels are from small sets; a worker may be in somebody else's hands, and what those that have
// ended said stays.
constexpr std::size_t line_max_bytes = 512;
constexpr std::size_t name_costs_bytes = 128;  // besides its text

bool is_own_matter(std::string_view metric) {
  return metric.starts_with("cloche_http_") || metric.ends_with("_limit") ||
         metric.ends_with("_limit_bytes") || metric == "cloche_headroom" ||
         metric.starts_with("cloche_workers");
}

}  // namespace

void MetricsSum::Metric::add(const std::string& name, double value, Room& room) {
  const auto found = places.find(name);
  if (found != places.end()) {
    samples[found->second].second += value;
  } else if (room.take(name.size())) {
    places.emplace(name, samples.size());
    samples.emplace_back(name, value);
  }
}

bool MetricsSum::Room::take(std::size_t bytes) {
  if (left < bytes + name_costs_bytes || (of_all && !of_all->take(bytes))) return false;
  left -= bytes + name_costs_bytes;
  return true;
}

// A page as Metrics writes it: "# HELP NAME ...", "# TYPE NAME KIND", then the samples of NAME.
MetricsSum::Metrics MetricsSum::parse(std::string_view page) {
  static constexpr std::string_view help = "# HELP ";
  static constexpr std::string_view type = "# TYPE ";
  Metrics metrics;
  Room room{.left = names_max_bytes};
  Metric* metric = nullptr;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.size() > line_max_bytes) continue;
    if (line.starts_with(help) || line.starts_with(type)) {
      const std::string_view rest = line.substr(help.size());
      const std::string_view name = rest.substr(0, rest.find(' '));
      auto found = metrics.find(name);
      if (found == metrics.end()) {
        if (!room.take(name.size() + line.size())) break;
        found = metrics.emplace(name, Metric{}).first;
      }
      metric = &found->second;
      if (std::ranges::count(metric->head, '\n') < 2) metric->head += fmt::format("{}\n", line);
      if (line.starts_with(type)) metric->counts = !rest.ends_with(" gauge");
      continue;
    }
    const std::size_t space = line.rfind(' ');
    double value = 0;
    if (!metric || space == line.npos ||
        std::from_chars(line.data() + space + 1, line.data() + line.size(), value).ec !=
            std::errc() ||
        !std::isfinite(value) || value < 0)
      continue;
    metric->add(std::string(line.substr(0, space)), value, room);
  }
  return metrics;
}

void MetricsSum::add(Metrics& sum, const Metrics& more, bool only_counts, Room& room) {
  for (const auto& [name, metric] : more) {
    if (is_own_matter(name) || (only_counts && !metric.counts)) continue;
    auto its = sum.find(name);
    if (its == sum.end()) {
      if (!room.take(name.size() + metric.head.size())) continue;
      its = sum.emplace(name, Metric{metric.head, metric.counts, {}, {}}).first;
    }
    for (const auto& [sample, value] : metric.samples) its->second.add(sample, value, room);
  }
}

std::string MetricsSum::page(std::string_view own,
                             const std::vector<std::pair<session::CellKey, std::string>>& workers,
                             std::uint64_t asked_at) {
  Metrics sum = parse(own);
  std::string text;
  const MutexLock lock(mutex_);
  for (const auto& [key, page] : workers) {
    const auto ended = ended_at_.find(key);
    if (ended == ended_at_.end() || ended->second <= asked_at) last_[key] = parse(page);
  }
  // One that did not answer now counts as it did when it last answered.
  for (const auto& [key, metrics] : last_) {
    Room room{.left = names_max_bytes};
    add(sum, metrics, false, room);
  }
  Room room{.left = names_max_bytes};
  add(sum, ended_, true, room);
  for (const auto& [name, metric] : sum) {
    text += metric.head;
    for (const auto& [sample, value] : metric.samples)
      text += fmt::format("{} {}\n", sample, value);
  }
  return text;
}

void MetricsSum::worker_said(session::CellKey key, std::string_view page) {
  Metrics metrics = parse(page);
  const MutexLock lock(mutex_);
  last_[key] = std::move(metrics);
}

std::uint64_t MetricsSum::ends() const {
  const MutexLock lock(mutex_);
  return ends_;
}

void MetricsSum::worker_ended(session::CellKey key, const std::string& owner) {
  const MutexLock lock(mutex_);
  ended_at_[key] = ++ends_;
  const auto found = last_.find(key);
  if (found == last_.end()) return;
  std::size_t& left = ended_rooms_.try_emplace(owner, owner_names_max_bytes).first->second;
  Room room{.left = left, .of_all = &ended_room_};
  add(ended_, found->second, true, room);
  left = room.left;
  last_.erase(found);
}

}  // namespace cloche::cluster

// SPDX-License-Identifier: Apache-2.0
#include "cluster/picker.h"

#include <algorithm>
#include <random>
#include <utility>

namespace cloche::cluster {

std::size_t draw_random(std::size_t below) {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(engine);
}

std::vector<std::size_t> pick_three(std::span<const double> headrooms, const Draw& draw) {
  constexpr std::size_t choices = 3;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < headrooms.size(); ++i) {
    if (headrooms[i] > 0) open.push_back(i);
  }
  const std::size_t count = std::min(choices, open.size());
  for (std::size_t i = 0; i < count; ++i) std::swap(open[i], open[i + draw(open.size() - i)]);
  open.resize(count);
  std::ranges::stable_sort(open, std::greater<>(), [&](std::size_t i) { return headrooms[i]; });
  return open;
}

}  // namespace cloche::cluster

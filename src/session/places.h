// SPDX-License-Identifier: Apache-2.0
// Places: sessions that are being made, by owner, in an order over all cells.
//
// An owner's limit is one over all cells, and none of them knows what another is about to make. So
// whoever makes a session takes a place first, which has a rank, and then asks the other cells how
// many the owner has: each counts those that are there, and those that are being made with a
// smaller rank. A rank is larger than every one that its cell has been asked about. So of two that
// are being made the one with the larger rank has seen the other: that other has taken its place
// before its cell was asked, or it would have the larger rank. Therefore no owner is ever given
// more than the limit, whoever asks where and when, as long as all cells answer. A cell that starts
// anew does not know what it was asked in its life before: it hears from each other cell what the
// largest number there is, before it asks that one anything.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "session/cell_key.h"

namespace cloche::session {

struct Rank {
  std::uint64_t number = 0;
  CellKey cell = 0;
  auto operator<=>(const Rank&) const = default;
};

// Those of one cell. Not thread-safe.
class Places {
 public:
  explicit Places(CellKey cell) : cell_(cell) {}

  // The rank of all `count` of them.
  Rank take(const std::string& owner, std::size_t count);
  // Some of those that were taken so.
  void give_back(const std::string& owner, const Rank& rank, std::size_t count);

  std::size_t of(const std::string& owner) const;
  std::size_t all() const noexcept { return all_; }
  // Those that another cell counts which asks about a place of that rank.
  std::size_t before(const std::string& owner, const Rank& asked);

  // The largest number that was given here, or heard of.
  std::uint64_t last() const noexcept { return last_; }
  // What is given from now on is larger.
  void hear_of(std::uint64_t number) noexcept { last_ = std::max(last_, number); }

 private:
  const CellKey cell_;
  std::uint64_t last_ = 0;  // given, or heard of
  std::size_t all_ = 0;
  std::unordered_map<std::string, std::map<Rank, std::size_t>> taken_;  // how many, by owner
};

}  // namespace cloche::session

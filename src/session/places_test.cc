// SPDX-License-Identifier: Apache-2.0
#include "session/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace cloche::session {
namespace {

TEST(Places, AreThoseOfAnOwner) {
  Places places(1);
  const Rank two = places.take("a", 2);
  const Rank one = places.take("a", 1);
  (void)places.take("b", 1);
  EXPECT_EQ(places.of("a"), 3u);
  EXPECT_EQ(places.of("c"), 0u);
  EXPECT_EQ(places.all(), 4u);
  places.give_back("a", two, 1);
  EXPECT_EQ(places.of("a"), 2u);
  places.give_back("a", two, 1);
  places.give_back("a", one, 1);
  places.give_back("a", one, 0);
  EXPECT_EQ(places.of("a"), 0u);
  EXPECT_EQ(places.all(), 1u);
}

TEST(Places, ThoseBeforeAPlaceHaveASmallerRank) {
  Places here(1);
  Places there(2);
  (void)here.take("a", 5);
  const Rank asks = there.take("a", 1);
  EXPECT_EQ(here.before("a", asks), 5u)
      << "the same number: the cell with the smaller key is first";
  EXPECT_EQ(here.before("b", asks), 0u);
  const Rank first = here.take("b", 1);
  EXPECT_EQ(there.before("b", first), 0u);
  EXPECT_GT(there.take("b", 1), first) << "what is asked about is before what comes then";
}

// Cells that make sessions of one owner, one step of one of them at a time, in any order.
class Cells {
 public:
  Cells(std::size_t count, std::size_t limit, unsigned seed) : limit_(limit), random_(seed) {
    cells_.resize(count);
    for (std::size_t i = 0; i < count; ++i) cells_[i].places.emplace(static_cast<CellKey>(i + 1));
  }

  std::size_t made() const {
    std::size_t sum = 0;
    for (const Cell& cell : cells_) sum += cell.made;
    return sum;
  }

  enum class Lives { one, many };
  // So many in each cell at once, until each has one or has been refused. Of many lives: cells
  // start anew meanwhile.
  void burst(std::size_t each, Lives lives = Lives::one) {
    std::vector<Try> tries;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      for (std::size_t i = 0; i < each; ++i) tries.push_back({.cell = cell});
    }
    while (!tries.empty()) {
      if (lives == Lives::many && random_() % 8 == 0) {
        start_anew(random_() % cells_.size(), tries);
        continue;
      }
      const std::size_t i = random_() % tries.size();
      if (step(tries[i])) {
        std::swap(tries[i], tries.back());
        tries.pop_back();
      }
      EXPECT_LE(made(), limit_);
    }
  }

  void delete_one() {
    for (Cell& cell : cells_) {
      if (cell.made > 0) {
        --cell.made;
        return;
      }
    }
  }

 private:
  struct Cell {
    std::optional<Places> places;
    std::size_t made = 0;
  };
  struct Try {
    std::size_t cell = 0;
    bool has_place = false;
    Rank rank = {};
    std::size_t counted = 0;
    std::vector<std::size_t> asked = {};  // cells
  };

  // What was being made there is not made any more; what it has stays.
  void start_anew(std::size_t cell, std::vector<Try>& tries) {
    std::erase_if(tries, [&](const Try& one) { return one.cell == cell && one.has_place; });
    cells_[cell].places.emplace(static_cast<CellKey>(cell + 1));
    for (const Cell& other : cells_) cells_[cell].places->hear_of(other.places->last());
  }

  // True: it is over.
  bool step(Try& one) {
    Cell& own = cells_[one.cell];
    if (!one.has_place) {
      one.counted = own.made + own.places->of("a");
      if (one.counted + 1 > limit_) return true;
      one.rank = own.places->take("a", 1);
      one.has_place = true;
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (i != one.cell) one.asked.push_back(i);
      }
      std::ranges::shuffle(one.asked, random_);
      return false;
    }
    if (!one.asked.empty()) {
      Cell& other = cells_[one.asked.back()];
      one.counted += other.made + other.places->before("a", one.rank);
      one.asked.pop_back();
      return false;
    }
    own.places->give_back("a", one.rank, 1);
    if (one.counted + 1 <= limit_) ++own.made;
    return true;
  }

  std::vector<Cell> cells_;
  const std::size_t limit_;
  std::mt19937 random_;
};

TEST(Places, NoOrderOfStepsGoesOverTheLimitOrLeavesRoomForLong) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Cells cells(3, 7, seed);
    cells.burst(5);
    EXPECT_GE(cells.made(), 1u) << "the one with the smallest rank is not in anybody's way";
    cells.burst(1);
    for (int i = 0; i < 7; ++i) cells.burst(1);
    EXPECT_EQ(cells.made(), 7u) << "what is left is given to who asks again";
    cells.delete_one();
    cells.burst(2);
    cells.burst(1);
    EXPECT_EQ(cells.made(), 7u);
  }
}

TEST(Places, NorDoesACellThatStartsAnew) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Cells cells(3, 7, seed);
    for (int i = 0; i < 5; ++i) {
      cells.burst(2, Cells::Lives::many);
      cells.delete_one();
    }
    for (int i = 0; i < 8; ++i) cells.burst(1);
    EXPECT_EQ(cells.made(), 7u);
  }
}

}  // namespace
}  // namespace cloche::session

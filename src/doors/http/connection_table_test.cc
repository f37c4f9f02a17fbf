// SPDX-License-Identifier: Apache-2.0
#include "doors/http/connection_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cloche::http {
namespace {

using Stage = Standing::Stage;

class Fake final : public Connection {
 public:
  explicit Fake(std::string peer, Stage stage = Stage::silent) : Connection(std::move(peer)) {
    stand(stage);
  }
  void start() override {}
  void end_soon() override {}
  void end_now() override {}
};
using Fakes = std::vector<std::shared_ptr<Fake>>;

Fakes add(ConnectionTable& table, std::size_t count, const std::string& peer,
          Stage stage = Stage::silent) {
  Fakes fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(std::make_shared<Fake>(peer, stage));
    EXPECT_TRUE(table.add(fakes.back()).taken);
  }
  return fakes;
}

TEST(ConnectionTable, TheLongestSilentLeavesFirst) {
  ConnectionTable table(64);
  const Fakes idle = add(table, 16, "a", Stage::idle);
  const Fakes silent = add(table, 40, "b");
  const Fakes busy = add(table, 8, "c", Stage::answering);
  for (std::size_t i = 0; i < 40; ++i) {
    const auto fresh = std::make_shared<Fake>("d", Stage::answering);
    const auto verdict = table.add(fresh);
    ASSERT_TRUE(verdict.taken) << i;
    ASSERT_EQ(verdict.leaving.size(), 1U);
    EXPECT_EQ(verdict.leaving[0], silent[i]);
    table.remove(silent[i].get());
    table.remove(fresh.get());
    EXPECT_EQ(table.size(), 63U);
    EXPECT_TRUE(table.add(std::make_shared<Fake>("e", Stage::answering)).taken);
  }
}

TEST(ConnectionTable, TheLargestPeerGivesWay) {
  ConnectionTable table(16);
  const Fakes few = add(table, 5, "few");
  const Fakes many = add(table, 11, "many");
  for (std::size_t i = 0; i < 6; ++i) {
    const auto verdict = table.add(std::make_shared<Fake>("x", Stage::answering));
    EXPECT_TRUE(verdict.taken);
    EXPECT_EQ(verdict.leaving.at(0)->peer_name(), "many") << i;
  }
}

TEST(ConnectionTable, NoPeerHasAllPlaces) {
  ConnectionTable table(16);
  const Fakes many = add(table, 12, "many", Stage::answering);
  EXPECT_FALSE(table.add(std::make_shared<Fake>("many")).taken);
  const Fakes others = add(table, 3, "other");
  many[7]->stand(Stage::idle);
  const auto verdict = table.add(std::make_shared<Fake>("many"));
  EXPECT_TRUE(verdict.taken);
  EXPECT_EQ(verdict.leaving.at(0), many[7]);  // its own, though others wait for less
}

TEST(ConnectionTable, WhoIsAnsweredStays) {
  ConnectionTable table(8);
  const Fakes one = add(table, 4, "a", Stage::answering);
  const Fakes two = add(table, 4, "b", Stage::answering);
  const auto verdict = table.add(std::make_shared<Fake>("c"));
  EXPECT_FALSE(verdict.taken);
  EXPECT_TRUE(verdict.leaving.empty());
  EXPECT_TRUE(table.shed().empty());
  EXPECT_EQ(table.size(), 8U);
}

TEST(ConnectionTable, CountsToTheEnd) {
  ConnectionTable table(8);
  {
    const Fakes some = add(table, 5, "a");
    EXPECT_EQ(table.all().size(), 5U);
    EXPECT_EQ(table.shed().size(), 1U);
    EXPECT_EQ(table.size(), 4U);
    EXPECT_FALSE(table.wait_until_empty(std::chrono::milliseconds(0)));
    for (const auto& each : some) table.remove(each.get());
  }
  EXPECT_EQ(table.size(), 0U);
  EXPECT_TRUE(table.wait_until_empty(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace cloche::http

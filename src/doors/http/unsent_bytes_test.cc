// SPDX-License-Identifier: Apache-2.0
#include "doors/http/unsent_bytes.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

class Fake final : public Connection {
 public:
  Fake() : Connection("peer") { read(); }
  void read() { stand(Standing::Stage::answering); }
  void start() override {}
  void end_soon() override {}
  void end_now() override {}
};

TEST(UnsentBytes, WhoHasReadNothingForTheLongestTimeGoes) {
  UnsentBytes unsent(1000, 100);
  const auto one = std::make_shared<Fake>();
  const auto two = std::make_shared<Fake>();
  const auto three = std::make_shared<Fake>();
  EXPECT_TRUE(unsent.keep(one, "a", 40).empty());
  EXPECT_TRUE(unsent.keep(two, "a", 40).empty());
  one->read();
  const auto leaving = unsent.keep(three, "a", 40);
  ASSERT_EQ(leaving.size(), 1U);
  EXPECT_EQ(leaving[0], two);
  EXPECT_EQ(unsent.bytes(), 80U);
  unsent.release(two.get());
  EXPECT_EQ(unsent.bytes(), 80U);
}

TEST(UnsentBytes, OneOwnerTakesNothingFromAnother) {
  UnsentBytes unsent(250, 100);
  std::vector<std::shared_ptr<Fake>> all;
  for (const char* owner : {"a", "b", "b", "c", "c", "c"}) {
    all.push_back(std::make_shared<Fake>());
    EXPECT_TRUE(unsent.keep(all.back(), owner, 30).empty());
  }
  all.push_back(std::make_shared<Fake>());
  const auto leaving = unsent.keep(all.back(), "d", 90);
  ASSERT_EQ(leaving.size(), 1U);
  EXPECT_EQ(leaving[0], all[3]);  // the first of whom keeps the most
  EXPECT_EQ(unsent.bytes(), 240U);
}

TEST(UnsentBytes, AnAnswerThatIsTooLargeForItsOwnerGoesItself) {
  UnsentBytes unsent(1000, 100);
  const auto one = std::make_shared<Fake>();
  const auto two = std::make_shared<Fake>();
  EXPECT_TRUE(unsent.keep(one, "a", 10).empty());
  EXPECT_EQ(unsent.keep(two, "a", 200).size(), 2U);
  EXPECT_EQ(unsent.bytes(), 0U);
}

TEST(UnsentBytes, IsLetGoOf) {
  UnsentBytes unsent(100, 100);
  const auto one = std::make_shared<Fake>();
  EXPECT_TRUE(unsent.keep(one, "a", 60).empty());
  EXPECT_TRUE(unsent.keep(one, "a", 70).empty());  // instead
  EXPECT_EQ(unsent.bytes(), 70U);
  unsent.release(one.get());
  unsent.release(one.get());
  EXPECT_EQ(unsent.bytes(), 0U);
}

}  // namespace
}  // namespace cloche::http

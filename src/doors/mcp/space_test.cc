// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/space.h"

#include <gtest/gtest.h>

#include <future>

#include "doors/mcp/hub.h"
#include "doors/mcp/tool_error.h"

namespace cloche::mcp {
namespace {

// Boxes whose sandboxes cannot be made.
class SpaceTest : public ::testing::Test {
 protected:
  std::string fault_of(const std::function<void()>& work) {
    try {
      work();
      return {};
    } catch (const ToolError& error) {
      return error.sentence;
    }
  }

  session::WorkerPool pool{4};
  Hub hub{{.allow = {"*.example.com:443"}, .sandbox_limit = 3},
          []() -> Engine& { throw std::runtime_error("there is no engine here"); },
          pool};
  std::shared_ptr<Space> own = hub.make_space();
  std::shared_ptr<Space> named = hub.make_space();
  Scope scope{own, named, nullptr, {}};
};

TEST(McpName, HasFewCharacters) {
  for (const char* name : {"a", "0", "a.b-c_d", "default"}) EXPECT_TRUE(is_name(name)) << name;
  for (const char* name : {"", "A", ".a", "-a", "a/b", "a b", "\u00e4"})
    EXPECT_FALSE(is_name(name)) << name;
  EXPECT_TRUE(is_name(std::string(63, 'a')));
  EXPECT_FALSE(is_name(std::string(64, 'a')));
}

TEST_F(SpaceTest, DefaultIsMadeAtItsFirstUseAndOthersAreNot) {
  EXPECT_EQ(fault_of([&] { (void)hub.box(scope, "x"); }),
            "there is no sandbox 'x': there is default");
  const auto box = hub.box(scope, default_name);
  EXPECT_EQ(hub.box(scope, default_name), box);
  EXPECT_EQ(own->find(default_name), box);
  EXPECT_TRUE(named->empty());
}

TEST_F(SpaceTest, OwnNamesComeBeforeThoseThatOutliveThem) {
  (void)hub.add_box(*named, {.name = "b"}, SandboxOptions());
  (void)hub.add_box(*own, {.name = "a"}, SandboxOptions());
  EXPECT_EQ(scope.all().size(), 2U);
  EXPECT_EQ(scope.find("b"), named->find("b"));
  EXPECT_EQ(scope.free_name("a"), "a-1");
  EXPECT_NE(fault_of([&] { (void)hub.add_box(*own, {.name = "a"}, SandboxOptions()); }), "");
}

TEST_F(SpaceTest, ThereMayBeSoMany) {
  for (const char* name : {"a", "b", "c"})
    (void)hub.add_box(*own, {.name = name}, SandboxOptions());
  EXPECT_NE(fault_of([&] { (void)hub.box(scope, default_name); }), "");
  EXPECT_TRUE(own->remove("a"));
  EXPECT_FALSE(own->remove("a"));
  EXPECT_EQ(fault_of([&] { (void)hub.box(scope, default_name); }), "");
}

TEST_F(SpaceTest, OneOwnerLeavesPlacesToOthers) {
  Hub shared{{.sandbox_limit = 4, .sandbox_limit_per_owner = 3},
             []() -> Engine& { throw std::runtime_error("there is no engine here"); },
             pool};
  const auto mine = shared.make_space("me"), also_mine = shared.make_space("me"),
             yours = shared.make_space("you");
  const auto fault = [&](Space& space, const char* name) {
    return fault_of([&] { (void)shared.add_box(space, {.name = name}, SandboxOptions()); });
  };
  for (const char* name : {"a", "b"}) EXPECT_EQ(fault(*mine, name), "");
  EXPECT_EQ(fault(*also_mine, "c"), "");
  EXPECT_EQ(fault(*mine, "d"), "there are 3 sandboxes of yours already: delete one first");
  EXPECT_EQ(fault(*yours, "a"), "");
  EXPECT_EQ(fault(*yours, "b"), "there are 4 sandboxes already: delete one first");
  EXPECT_TRUE(mine->remove("a"));
  EXPECT_EQ(shared.boxes(), 3U);
  EXPECT_EQ(fault(*yours, "b"), "");
}

TEST_F(SpaceTest, SnapshotsOfAllItsSpacesAreAnOwners) {
  Hub shared{{.sandbox_limit = 3, .sandbox_limit_per_owner = 2},
             []() -> Engine& { throw std::runtime_error("there is no engine here"); },
             pool};
  const auto first = shared.make_space("me"), second = shared.make_space("me");
  const auto fault = [&](Space& space, const char* name) {
    return fault_of([&] { space.save(name, {}, shared.count_snapshot(space.owner())); });
  };
  EXPECT_EQ(fault(*first, "a"), "");
  EXPECT_EQ(fault(*second, "a"), "");
  EXPECT_EQ(fault(*second, "b"), "there are 2 snapshots of yours already: delete one first");
  EXPECT_EQ(fault(*shared.make_space("you"), "a"), "");
  EXPECT_TRUE(first->drop("a"));
  EXPECT_EQ(fault(*second, "b"), "");
  first->close();
  second->close();
  EXPECT_EQ(fault(*first, "c"), "");
}

TEST_F(SpaceTest, ABoxThatWasClosedDoesItsCallsAndHasNoSandbox) {
  const auto box = hub.box(scope, default_name);
  std::promise<std::string> told;
  EXPECT_TRUE(own->remove(default_name));
  EXPECT_TRUE(box->closing().stop_requested());
  EXPECT_TRUE(box->post([&] { told.set_value(fault_of([&] { (void)box->live(); })); }));
  EXPECT_EQ(told.get_future().get(), "the sandbox 'default' was deleted");
}

TEST_F(SpaceTest, CallsAreDoneInOrder) {
  const auto box = hub.box(scope, default_name);
  std::vector<int> order;
  std::promise<void> last;
  for (int number = 0; number < 100; ++number) {
    EXPECT_TRUE(box->post([&order, &last, number] {
      order.push_back(number);
      if (number == 99) last.set_value();
    }));
  }
  last.get_future().wait();
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_F(SpaceTest, TheOperatorsRulesCoverWhatTheySay) {
  EXPECT_TRUE(hub.covers({"www.example.com:443"}));
  EXPECT_FALSE(hub.covers({"www.example.com:443", "example.com:443"}));
  EXPECT_FALSE(hub.covers({"www.example.com"}));
  EXPECT_NE(fault_of([&] { (void)hub.covers({"a:b:c"}); }), "");
}

}  // namespace
}  // namespace cloche::mcp

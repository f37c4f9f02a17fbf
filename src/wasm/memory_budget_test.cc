// SPDX-License-Identifier: Apache-2.0
// Whatever a guest's memory is, its sandbox is charged before it has it.
#include "wasm/memory_budget.h"

#include <gtest/gtest.h>

#include "base/resident_memory.h"
#include "wasm/initial_memory.h"
#include "wasm/module_limits.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

constexpr std::uint64_t page = 65536;
constexpr std::uint64_t mib = 1 << 20;

class BudgetTest : public ::testing::Test {
 protected:
  InstanceOptions charged() { return {.budget = budget}; }

  std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>(16 * mib);
  GuestMaker guests;
};

TEST(MemoryBudget, GrantsUpToItsLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.charge(60));
  EXPECT_FALSE(budget.charge(41));
  EXPECT_FALSE(budget.charge(~std::uint64_t{0}));
  EXPECT_TRUE(budget.charge(40));
  EXPECT_FALSE(budget.charge(1));
  budget.release(100);
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST_F(BudgetTest, MemoryIsChargedAtCreationAndGrowthAndComesBack) {
  on_guest_thread([&] {
    {
      const auto guest = guests.make(R"((module (memory (export "memory") 2)
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))))",
                                     charged());
      const std::uint64_t first = budget->used_bytes();
      EXPECT_GE(first, 2 * page);
      EXPECT_LT(first, 3 * page);
      EXPECT_EQ(guest->call("grow", {Value::i32(3)}).result, Value::i32(2));
      EXPECT_EQ(budget->used_bytes(), first + 3 * page);
      EXPECT_TRUE(guest->grow(1));
      EXPECT_EQ(budget->used_bytes(), first + 4 * page);
      EXPECT_EQ(guest->call("grow", {Value::i32(300)}).result, Value::i32(-1));
      EXPECT_EQ(guest->grow(300).error(), Errno::nomem);
      EXPECT_EQ(budget->used_bytes(), first + 4 * page);
    }
    EXPECT_EQ(budget->used_bytes(), 0U);
  });
}

TEST_F(BudgetTest, MemoryThatIsNotExportedIsCharged) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (memory 1)
      (func (export "hoard") (result i32)
        (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536)))
        (memory.size))))",
                                   charged());
    const auto pages = guest->call("hoard").result.as_u32();
    EXPECT_LE(pages * page, 16 * mib);
    EXPECT_GT(pages * page, 15 * mib);
    EXPECT_EQ(guest->memory().base(), nullptr);
  });
}

TEST_F(BudgetTest, AllInstancesOfABudgetShareIt) {
  on_guest_thread([&] {
    const auto module = guests.link(R"((module (memory (export "memory") 100)))");
    std::vector<std::unique_ptr<Instance>> made;
    for (int i = 0; i < 2; ++i) made.push_back(guests.make(module, charged()));
    const Error why = Instance::create(module, charged()).error();
    EXPECT_EQ(why.code(), Errno::nomem);
    EXPECT_NE(why.sentence().find("no more memory"), std::string::npos) << why.sentence();
    made.pop_back();
    EXPECT_TRUE(Instance::create(module, charged()));
  });
}

// Each exception lies on a heap of the engine's for as long as the table holds it.
constexpr std::string_view exception_hoarder = R"((module
  (tag $e (param i64 i64 i64 i64))
  (table $t 200000 exnref)
  (func $throw (throw $e (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)))
  (func (export "hoard") (local $i i32)
    (loop $more
      (table.set $t (local.get $i)
        (block $caught (result exnref)
          (try_table (catch_all_ref $caught) (call $throw)) (unreachable)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 200000)))))))";

TEST_F(BudgetTest, ExceptionsThatAreKeptAreCharged) {
  on_guest_thread([&] {
    const auto module = guests.link(exception_hoarder);
    const std::uint64_t before = resident_bytes();
    std::vector<std::unique_ptr<Instance>> hoarders;
    int refused = 0;
    for (int i = 0; i < 4; ++i) {
      auto one = Instance::create(module, charged());
      if (!one) {
        ++refused;
        continue;
      }
      const Outcome outcome = (*one)->call("hoard");
      if (!outcome.returned()) {
        EXPECT_EQ(outcome.trap, Trap::out_of_memory) << outcome.message;
        ++refused;
      }
      hoarders.push_back(*std::move(one));
      EXPECT_LE(budget->used_bytes(), budget->limit_bytes());
    }
    EXPECT_GT(refused, 0);
    EXPECT_LT(resident_bytes(), before + 2 * budget->limit_bytes());
  });
  EXPECT_EQ(budget->used_bytes(), 0U);
}

TEST_F(BudgetTest, TablesAreChargedAsLongAsTheyMayBecome) {
  on_guest_thread([&] {
    const auto fixed = from_wat("(module (table 1000 1000 funcref))");
    const auto growing = from_wat("(module (table 1 funcref) (table 1 externref))");
    EXPECT_EQ(engine_bytes_of(fixed), 16'000U);
    EXPECT_EQ(engine_bytes_of(growing), 2 * max_table_elements * 16);
    const auto module = guests.link("(module (table 1 funcref) (table 1 exnref))");
    std::vector<std::unique_ptr<Instance>> made;
    for (int i = 0; i < 2; ++i) made.push_back(guests.make(module, charged()));
    EXPECT_EQ(Instance::create(module, charged()).error().code(), Errno::nomem);
  });
}

TEST(EngineBytes, AreAtTheirMostWhereTheTableCannotBeRead) {
  // A table with an initial value.
  const auto module =
      from_wat("(module (func $f) (elem declare func $f) (table 10 10 (ref func) (ref.func $f)))");
  EXPECT_GE(engine_bytes_of(module), max_table_elements * 16);
  for (std::size_t cut = 0; cut < module.size(); ++cut)
    EXPECT_LE(engine_bytes_of(std::span(module).first(cut)), 16 * 8 * max_table_elements + 4096);
}

// --- The program's data ----------------------------------------------------------------------

constexpr std::string_view with_data = R"((module (memory (export "memory") 4)
  (data $a (i32.const 4090) "0123456789")
  (data $p "passive")
  (data (i32.const 4092) "ab")
  (func (export "from_passive") (memory.init $p (i32.const 0) (i32.const 0) (i32.const 7)))
  (func (export "from_active") (param i32)
    (memory.init $a (i32.const 0) (i32.const 0) (local.get 0)))))";

TEST(InitialMemory, IsWhatTheSegmentsSayInTheirOrder) {
  const auto split = split_data(from_wat(with_data));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->start, 0U);
  const std::string_view text(reinterpret_cast<const char*>(split->data.data()) + 4090, 10);
  EXPECT_EQ(text, "01ab456789");
  on_guest_thread([&] {
    GuestMaker guests;
    const auto guest = guests.make(with_data);
    EXPECT_EQ(*guest->memory().read_string(4090, 20), "01ab456789");
    EXPECT_TRUE(guest->call("from_passive").returned());
    EXPECT_EQ(*guest->memory().read_string(0, 20), "passive");
    // As after any instantiation, an active segment is empty.
    EXPECT_TRUE(guest->call("from_active", {Value::i32(0)}).returned());
    EXPECT_EQ(guest->call("from_active", {Value::i32(1)}).trap, Trap::memory);
  });
}

TEST(InitialMemory, LargeDataIsMappedAndEachInstanceHasItsOwn) {
  on_guest_thread([] {
    const std::string bytes(200'000, 'x');
    GuestMaker guests;
    const auto module = guests.link(R"((module (memory (export "memory") 8)
      (data (i32.const 70001) ")" + bytes +
                                    R"(")))");
    const auto one = guests.make(module);
    const auto other = guests.make(module);
    EXPECT_TRUE(one->memory().write<char>(70001, 'y'));
    EXPECT_EQ(*other->memory().read<char>(70001), 'x');
    EXPECT_EQ(*other->memory().read<char>(70000), '\0');
    EXPECT_EQ(*other->memory().read<char>(270000), 'x');
    EXPECT_EQ(*other->memory().read<char>(270001), '\0');
  });
}

TEST(InitialMemory, StaysInItsSegmentsWhereItMust) {
  for (const std::string_view text :
       {"(module (memory 1))", "(module (memory 1) (data (i32.const 0) \"\"))",
        "(module (memory 1) (data (i32.const 65530) \"too long\"))",
        "(module (memory 1) (data (i32.const -1) \"x\"))",
        "(module (memory 1000) (data (i32.const 0) \"far\") (data (i32.const 60000000) \"apart\"))",
        "(module (global $g i32 (i32.const 8)) (memory 1) (data (global.get $g) \"x\"))"}) {
    EXPECT_FALSE(split_data(from_wat(text))) << text;
  }
  const auto whole = from_wat(with_data);
  // What is cut off has no data, or all of it (where what comes after is cut off).
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto split = split_data(std::span(whole).first(cut));
    EXPECT_TRUE(!split || split->data == split_data(whole)->data) << cut;
  }
  on_guest_thread([] {
    GuestMaker guests;
    const auto far = guests.make(
        R"((module (memory (export "memory") 1000) (data (i32.const 0) "far")
          (data (i32.const 60000000) "apart")))");
    EXPECT_EQ(*far->memory().read_string(60000000, 9), "apart");
    EXPECT_FALSE(Instance::create(
        guests.link("(module (memory 1) (data (i32.const 65530) \"too long\"))"), {}));
  });
}

}  // namespace
}  // namespace cloche::wasm

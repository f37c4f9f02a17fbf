// SPDX-License-Identifier: Apache-2.0
#include "wasm/preemption.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/many_lives_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

using namespace std::chrono_literals;

// Loops of several sorts, each endless. "step" is one that ends; "dirty" leaves its mark.
constexpr std::string_view program = R"((module
  (import "test" "wait" (func $wait (param i32)))
  (import "test" "nest" (func $nest))
  (memory (export "memory") 16 64) (table 4 funcref) (elem (i32.const 0) $leaf $deep)
  (data (i32.const 100) "data of the program")
  (global $calls (export "calls") (mut i32) (i32.const 0))
  (tag $t (param i32)) (type $v (func))
  (func $leaf)
  (func $deep (local $i i32)
    (local.set $i (i32.const 200))
    (if (i32.lt_u (global.get $calls) (i32.const 300)) (then
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (call_indirect (type $v) (i32.const 1))
      (global.set $calls (i32.sub (global.get $calls) (i32.const 1))))))
  (func (export "spin") (loop (br 0)))
  (func (export "count") (local i64) (loop (local.set 0 (i64.add (local.get 0) (i64.const 1))) (br 0)))
  (func (export "store") (local i32) (loop
    (i32.store (i32.and (local.get 0) (i32.const 0xffffc)) (local.get 0))
    (local.set 0 (i32.add (local.get 0) (i32.const 52))) (br 0)))
  (func (export "calls_leaf") (loop (call $leaf) (br 0)))
  (func (export "calls_deep") (loop (call_indirect (type $v) (i32.const 1)) (br 0)))
  (func (export "fill") (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 1048576)) (br 0)))
  (func (export "copy") (loop
    (memory.copy (i32.const 0) (i32.const 524288) (i32.const 524288)) (br 0)))
  (func (export "grow") (loop (drop (memory.grow (i32.const 1))) (br 0)))
  (func $throw (throw $t (i32.const 1)))
  (func (export "throw") (loop
    (block $caught (result i32) (try_table (catch $t $caught) (call $throw)) (i32.const 0))
    (drop) (br 0)))
  (func (export "host") (loop (call $wait (i32.const 0)) (br 0)))
  (func (export "wait") (param i32) (call $wait (local.get 0)))
  (func (export "nested") (loop (call $nest) (br 0)))
  (func (export "divide") (result i32) (local i32) (loop
    (local.set 0 (i32.div_u (i32.const 1) (local.get 0))) (br 0)) (local.get 0))
  (func (export "overflow") (call $forever) )
  (func $forever (call $forever) (call $leaf))
  (func (export "step") (result i32) (i32.const 42))
  (func (export "dirty") (memory.fill (i32.const 0) (i32.const 0xee) (i32.const 1048576)))
  (func (export "float") (local f64) (local.set 0 (f64.const 1)) (loop
    (local.set 0 (f64.sqrt (f64.add (local.get 0) (f64.const 2)))) (br 0)))
  (func (export "vector") (local v128) (loop
    (local.set 0 (i32x4.add (local.get 0) (v128.const i32x4 1 2 3 4))) (br 0)))
  (func (export "sum") (result i64) (local $i i64) (local $s i64) (loop
    (local.set $s (i64.add (local.get $s) (i64.mul (local.get $i) (i64.const 3))))
    (local.set $i (i64.add (local.get $i) (i64.const 1)))
    (br_if 0 (i64.lt_u (local.get $i) (i64.const 30000000)))) (local.get $s))
))";
constexpr std::array endless{"spin", "count", "store", "calls_leaf", "calls_deep", "fill",  "copy",
                             "grow", "throw", "host",  "nested",     "float",      "vector"};

struct Owner {
  std::atomic<bool> end = false;  // the handler's answer
  std::atomic<int> asked = 0;
  std::atomic<int> waits = 0;
  EpochAction answer = EpochAction::proceed;
};

void host_wait(HostCall& call, std::int32_t microseconds) noexcept {
  ++call.owner<Owner>().waits;
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}
void host_nest(HostCall& call) noexcept {
  if (call.instance().call("step").ending != Ending::returned) call.unwind();
}

EpochAction handle(Instance&, void* data) noexcept {
  auto& owner = *static_cast<Owner*>(data);
  ++owner.asked;
  return owner.end ? EpochAction::unwind : owner.answer;
}

class PreemptionTest : public testing::Test {
 protected:
  PreemptionTest() {
    if (!test_engine().preempts()) return;
    guests.linker.define(host_function<host_wait>("test", "wait"));
    guests.linker.define(host_function<host_nest>("test", "nest"));
    char name[] = "/tmp/cloche-preemption-XXXXXX";
    folder = mkdtemp(name);
    module = link(program);
  }
  ~PreemptionTest() override {
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  void SetUp() override {
    if (!test_engine().preempts()) GTEST_SKIP() << "signals cannot interrupt guests here";
    ASSERT_TRUE(module);
  }

  ModuleStore::Loaded load(std::string_view wat) {
    const auto path = folder / "program.wasm";
    const auto bytes = from_wat(wat);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return guests.store.load(path, Interruption::signals);
  }
  std::shared_ptr<const LinkedModule> link(std::string_view wat) {
    const auto loaded = load(wat);
    EXPECT_TRUE(loaded);
    return loaded ? *guests.linker.link(*loaded) : nullptr;
  }

  std::unique_ptr<Instance> make(Owner& owner) {
    auto guest = guests.make(module, {.owner = &owner});
    guest->set_epoch_handler(handle);
    return guest;
  }

  GuestMaker guests;
  std::filesystem::path folder;
  std::shared_ptr<const LinkedModule> module;
};

// Interrupts once, some time after now.
std::thread interrupt_after(std::chrono::microseconds delay, Owner& owner, bool end) {
  return std::thread([delay, &owner, end] {
    std::this_thread::sleep_for(delay);
    if (end) owner.end = true;
    test_engine().interrupt(&owner);
  });
}

TEST_F(PreemptionTest, EveryLoopEndsWithOneInterruption) {
  for (const char* name : endless) {
    on_guest_thread([&] {
      Owner owner;
      const auto guest = make(owner);
      std::thread interrupter = interrupt_after(20ms, owner, true);
      EXPECT_EQ(guest->call(name).ending, Ending::exited) << name;
      interrupter.join();
      EXPECT_GE(owner.asked, 1);
      EXPECT_EQ(guest->depth(), 0);
    });
  }
}

TEST_F(PreemptionTest, AGuestThatGoesOnIsUnchanged) {
  on_guest_thread([&] {
    Owner owner;
    const auto guest = make(owner);
    std::atomic<bool> ended = false;
    std::thread interrupter([&] {
      while (!ended) {
        test_engine().interrupt(&owner);
        std::this_thread::sleep_for(50us);
      }
    });
    for (int i = 0; i < 5; ++i) {
      const auto outcome = guest->call("sum");
      ASSERT_TRUE(outcome.returned()) << outcome.message;
      EXPECT_EQ(outcome.result.bits, 1349999955000000U);
    }
    ended = true;
    interrupter.join();
    EXPECT_GT(owner.asked, 5);
  });
}

TEST_F(PreemptionTest, TrapsAreTrapsStill) {
  on_guest_thread([&] {
    Owner owner;
    std::atomic<bool> ended = false;
    std::thread interrupter([&] {
      while (!ended) {
        test_engine().interrupt(&owner);
        std::this_thread::sleep_for(20us);
      }
    });
    for (int i = 0; i < 20; ++i) {
      const auto guest = make(owner);
      EXPECT_EQ(guest->call("divide").trap, Trap::division_by_zero);
      EXPECT_EQ(guest->call("overflow").trap, Trap::stack_overflow);
      EXPECT_TRUE(guest->call("step").returned());
    }
    ended = true;
    interrupter.join();
  });
}

TEST_F(PreemptionTest, WhatCameInAHostFunctionIsAskedWhenItReturns) {
  on_guest_thread([&] {
    Owner owner;
    const auto guest = make(owner);
    std::thread interrupter = interrupt_after(5ms, owner, true);
    EXPECT_EQ(guest->call("wait", {Value::i32(100'000)}).ending, Ending::exited);
    interrupter.join();
    EXPECT_EQ(owner.asked, 1);
    EXPECT_EQ(owner.waits, 1);
  });
}

TEST_F(PreemptionTest, WhatCameBetweenTwoCallsIsAskedBeforeTheNext) {
  on_guest_thread([&] {
    Owner owner;
    const auto guest = make(owner);
    EXPECT_TRUE(guest->call("step").returned());
    owner.end = true;
    test_engine().interrupt(&owner);
    EXPECT_EQ(guest->call("dirty").ending, Ending::exited);
    EXPECT_EQ(*guest->memory().read<std::uint8_t>(0), 0);
    owner.end = false;
    EXPECT_EQ(guest->call("step").result, Value::i32(42));
  });
}

TEST_F(PreemptionTest, WithoutAHandlerTheCallEnds) {
  on_guest_thread([&] {
    Owner owner;
    const auto guest = guests.make(module, {.owner = &owner});
    std::thread interrupter = interrupt_after(5ms, owner, true);
    EXPECT_EQ(guest->call("count").trap, Trap::interrupted);
    interrupter.join();
  });
}

TEST_F(PreemptionTest, WhoWantsToBeAskedAgainIs) {
  on_guest_thread([&] {
    Owner owner;
    owner.answer = EpochAction::again;
    const auto guest = make(owner);
    std::thread interrupter([&] {
      std::this_thread::sleep_for(2ms);
      test_engine().interrupt(&owner);
      while (owner.asked < 5) std::this_thread::sleep_for(1ms);
      owner.end = true;
    });
    EXPECT_EQ(guest->call("count").ending, Ending::exited);
    interrupter.join();
    EXPECT_GE(owner.asked, 6);
  });
}

TEST_F(PreemptionTest, OnlyItsOwnGuestsAreStoppedWhereTheyCompute) {
  Owner mine;
  Owner other;
  std::thread neighbour([&] {
    on_guest_thread([&] { EXPECT_EQ(make(other)->call("count").ending, Ending::exited); });
  });
  on_guest_thread([&] {
    const auto guest = make(mine);
    std::thread interrupter = interrupt_after(10ms, mine, true);
    EXPECT_EQ(guest->call("count").ending, Ending::exited);
    interrupter.join();
  });
  EXPECT_EQ(other.asked, 0);
  other.end = true;
  while (other.asked == 0) test_engine().interrupt(&other);
  neighbour.join();
}

// Of one with handlers, what the body of a function or what is beside it may be.
constexpr std::string_view handlers = R"((import "linux" "syscall"
    (func (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 1) (tag $t (param i32)) (func (export "__cloche_signal")) )";

TEST_F(PreemptionTest, ProgramsThatCannotBeCheckEpochs) {
  const auto is_preempted = [&](const std::string& content) {
    const auto loaded = load("(module " + content + ")");
    EXPECT_TRUE(loaded) << content;
    return loaded && (*loaded)->interruption() == Interruption::signals;
  };
  const std::string with_handlers(handlers);
  EXPECT_TRUE(is_preempted("(memory 1) (func)"));
  EXPECT_FALSE(is_preempted("(func $f) (start $f)"));
  EXPECT_FALSE(is_preempted("(func $f (return_call $f))"));
  EXPECT_TRUE(is_preempted(with_handlers));
  EXPECT_FALSE(is_preempted(R"((memory 1) (func (export "__cloche_signal")))"));
  EXPECT_FALSE(is_preempted(R"((import "linux" "syscall" (func (param i32) (result i32)))
    (memory 1) (func (export "__cloche_signal")))"));
  // The engine's collector would have to find what they hold.
  EXPECT_FALSE(is_preempted(with_handlers + "(func (local externref))"));
  EXPECT_FALSE(is_preempted(with_handlers + "(func (throw_ref (ref.null exn)))"));
  EXPECT_FALSE(is_preempted(with_handlers + R"((func
    (block $c (result i32 exnref) (try_table (catch_ref $t $c)) (return)) unreachable))"));
  EXPECT_TRUE(is_preempted(with_handlers + R"((func (result i32)
    (block $c (result i32) (try_table (catch $t $c)) (throw $t (i32.const 1)))))"));
  EXPECT_TRUE(is_preempted(with_handlers + R"((func (local exnref)
    (block $c (result exnref) (try_table (result i32) (catch_all_ref $c) (i32.const 1)) (drop)
      (return)) (local.set 0) (throw_ref (local.get 0))))"));
  EXPECT_FALSE(is_preempted(with_handlers + "(tag $u) (func (throw $u))"));
  EXPECT_TRUE(is_preempted("(memory 1) (tag $t) (tag $u) (func (local exnref) (throw $u))"));
}

TEST_F(PreemptionTest, AGuestsCopyOfTheProgramChecksEpochs) {
  const auto mine = load(program);
  const auto copy = guests.store.load(from_wat(program), "copy");
  ASSERT_TRUE(mine);
  ASSERT_TRUE(copy);
  EXPECT_EQ((*mine)->interruption(), Interruption::signals);
  EXPECT_EQ((*copy)->interruption(), Interruption::epochs);
  EXPECT_EQ((*mine)->info().digest, (*copy)->info().digest);
}

// Each life is ended at a random moment of a random loop; its memory is the next one's, and clean.
// CLOCHE_PREEMPTION_SECONDS makes it longer.
TEST_F(PreemptionTest, ManyLivesOnManyThreadsEndAtRandomMoments) {
  std::atomic<int> lives = 0;
  live_many_times(1500ms, [&](std::minstd_rand& random) {
    on_guest_thread([&] {
      for (int i = 0; i < 50 && !HasFailure(); ++i) {
        Owner owner;
        const auto guest = make(owner);
        for (const std::uint32_t at : {0U, 52U, 4096U, 524288U, 1048572U})
          ASSERT_EQ(*guest->memory().read<std::uint32_t>(at), 0U);
        ASSERT_EQ(*guest->memory().read<std::uint32_t>(100), 0x61746164U);  // "data"
        ASSERT_EQ(guest->memory().size(), std::size_t{16} << 16);
        std::thread interrupter =
            interrupt_after(std::chrono::microseconds(random() % 700), owner, true);
        const char* const name = endless[random() % endless.size()];
        EXPECT_EQ(guest->call(name).ending, Ending::exited) << name;
        interrupter.join();
        ++lives;
      }
    });
  });
  RecordProperty("lives", lives);
  EXPECT_GT(lives, 20);
}

// Nobody waits for an answer: signals meet answers, ends, beginnings and threads that are gone.
TEST_F(PreemptionTest, AStormOfInterruptionsHurtsNobody) {
  const auto until = std::chrono::steady_clock::now() + 1s;
  std::atomic<bool> ended = false;
  std::vector<std::thread> storm;
  for (int i = 0; i < 2; ++i) {
    storm.emplace_back([&] {
      while (!ended) {
        test_engine().interrupt(nullptr);
        std::this_thread::sleep_for(10us);
      }
    });
  }
  int lives = 0;
  constexpr int fewest = 6;  // also where the machine has much else to do
  while (lives < fewest || std::chrono::steady_clock::now() < until) {
    on_guest_thread([&] {
      Owner owner;
      const auto guest = make(owner);
      EXPECT_EQ(guest->call("step").result, Value::i32(42));
      std::thread interrupter = interrupt_after(100us, owner, true);
      EXPECT_EQ(guest->call(endless[static_cast<std::size_t>(lives) % endless.size()]).ending,
                Ending::exited);
      interrupter.join();
      ++lives;
    });
  }
  ended = true;
  for (std::thread& thread : storm) thread.join();
  RecordProperty("lives", lives);
}

}  // namespace
}  // namespace cloche::wasm

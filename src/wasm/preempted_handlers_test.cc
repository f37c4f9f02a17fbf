// SPDX-License-Identifier: Apache-2.0
// Guests with handlers of signals of their own, which are called where a signal of the host has
// stopped the guest (preemption.h).
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
#include "wasm/preemption.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

using namespace std::chrono_literals;

// What the guest's handler does, by the global "mode".
enum class Mode : std::uint8_t { count, spin, jump, call_host, jump_often, trap, grow, overflow };

constexpr std::string_view program = R"((module
  (import "linux" "syscall" (func $syscall (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2 4096)
  (tag $jump (param i32))
  (table 4 funcref) (elem (i32.const 0) $leaf $deep)
  (type $v (func))
  (global $mode (export "mode") (mut i32) (i32.const 0))
  (global $handled (export "handled") (mut i32) (i32.const 0))
  (global $calls (mut i32) (i32.const 0))
  (func $throw_first (param i32) (throw $jump (local.get 0)))
  (func $throw (param i32) (local exnref)
    (block $again (result exnref)
      (try_table (catch_all_ref $again) (call $throw_first (local.get 0))) unreachable)
    (local.set 1) (throw_ref (local.get 1)))
  (func $host (drop (call $syscall (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0))))
  (func $leaf)
  (func $deep (local $i i32)
    (if (i32.lt_u (global.get $calls) (i32.const 300)) (then
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (call_indirect (type $v) (i32.const 1))
      (global.set $calls (i32.sub (global.get $calls) (i32.const 1))))))
  (func $forever (call $forever) (call $leaf))

  ;; Exceptions that are thrown and caught: some thousand make the engine collect. Their numbers are
  ;; negative, and no handler's.
  (func $jump_often (param $n i32) (local $got i32)
    (loop $next
      (block $caught (result i32)
        (try_table (catch $jump $caught) (call $throw (i32.sub (i32.const 0) (local.get $n))))
        (i32.const 0))
      (local.set $got)
      (if (i32.add (local.get $got) (local.get $n)) (then unreachable))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (i32.gt_s (local.get $n) (i32.const 0)))))

  (func (export "__cloche_signal")
    (global.set $handled (i32.add (global.get $handled) (i32.const 1)))
    (block $overflow (block $grow (block $trap (block $often (block $call (block $jumps (block $spin
      (block $count
        (br_table $count $spin $jumps $call $often $trap $grow $overflow (global.get $mode)))
      (return))
      (loop (br 0)))
      (call $throw (i32.const 7)))
      (call $host) (return))
      (call $jump_often (i32.const 3000)) (return))
      (i32.store (i32.const -1) (i32.const 0)))
      (drop (memory.grow (i32.const 1))) (memory.fill (i32.const 65536) (i32.const 1) (i32.const 9))
      (return))
    (call $forever))

  ;; Each is endless. What comes out of a handler ends it.
  (func $spin (export "spin") (loop (br 0)))
  (func $store (export "store") (local i32) (loop
    (i32.store (i32.and (local.get 0) (i32.const 0xfffc)) (local.get 0))
    (local.set 0 (i32.add (local.get 0) (i32.const 52))) (br 0)))
  (func $leaves (export "leaves") (loop (call $leaf) (br 0)))
  (func $deeps (export "deeps") (loop (global.set $calls (i32.const 0))
    (call_indirect (type $v) (i32.const 1)) (br 0)))
  (func $fills (export "fills") (loop
    (memory.fill (i32.const 0) (i32.const 7) (i32.const 65536)) (br 0)))
  (func $hosts (export "hosts") (local i32) (loop (call $host) (local.set 0 (i32.const 20000))
    (loop (local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br_if 0 (local.get 0))) (br 0)))
  (func $jumps (export "jumps") (loop (call $jump_often (i32.const 100)) (br 0)))
  (func $grows (export "grows") (loop (drop (memory.grow (i32.const 1))) (br 0)))

  ;; Runs one of them: what was thrown, and where it was caught: 100 more beside the loop.
  (func (export "catch") (param $which i32) (result i32)
    (block $outer (result i32)
      (try_table (catch $jump $outer) (return (call $inner (local.get $which)))) unreachable))
  (func $inner (param $which i32) (result i32)
    (block $caught (result i32)
      (try_table (catch $jump $caught)
        (call $host)
        (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
          (br_table $0 $1 $2 $3 $4 $5 $6 $7 (local.get $which)))
          (call $spin)) (call $store)) (call $leaves)) (call $deeps)) (call $fills)) (call $hosts))
          (call $jumps)) (call $grows))
      (i32.const -1))
    (i32.add (i32.const 100)))

  ;; A result that is wrong where a register, a flag or a byte of memory is lost.
  (func (export "compute") (result i64)
    (local $i i64) (local $s i64) (local $f f64) (local $v v128) (local $at i32)
    (local.set $f (f64.const 1))
    (loop $next
      (local.set $at (i32.shl (i32.and (i32.wrap_i64 (local.get $i)) (i32.const 1023))
        (i32.const 3)))
      (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (local.get $s)))
      (local.set $s (i64.add (i64.rotl (local.get $s) (i64.const 5))
        (select (i64.mul (local.get $i) (i64.const 3)) (i64.load (local.get $at))
          (i64.lt_u (local.get $s) (i64.const 0x7fffffffffffffff)))))
      (local.set $f (f64.sqrt (f64.add (local.get $f) (f64.convert_i64_u (local.get $i)))))
      (local.set $v (i64x2.add (local.get $v) (i64x2.splat (local.get $s))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.lt_u (local.get $i) (i64.const 1000000))))
    (i64.xor (i64.xor (local.get $s) (i64.reinterpret_f64 (local.get $f)))
      (i64x2.extract_lane 1 (local.get $v))))
))";
constexpr std::array endless{"spin",  "store", "leaves", "deeps",
                             "fills", "hosts", "jumps",  "grows"};

struct Owner {
  std::atomic<bool> end = false;
  std::atomic<int> asked = 0;
  std::atomic<int> called_host = 0;
  int depth = 0;
};

std::int32_t count_syscall(HostCall& call, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                           std::int32_t, std::int32_t, std::int32_t) noexcept {
  return ++call.owner<Owner>().called_host;
}

// As a task of the kernel does.
EpochAction handle(Instance& guest, void* data) noexcept {
  auto& owner = *static_cast<Owner*>(data);
  ++owner.asked;
  if (owner.end) return EpochAction::unwind;
  constexpr int deepest = 8;
  if (owner.depth >= deepest) return EpochAction::proceed;
  ++owner.depth;
  const Outcome outcome = guest.call("__cloche_signal");
  --owner.depth;
  if (outcome.returned()) return EpochAction::proceed;
  return outcome.trap == Trap::uncaught_exception ? EpochAction::rethrow : EpochAction::unwind;
}

class PreemptedHandlersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_engine().preempts()) GTEST_SKIP() << "signals cannot interrupt guests here";
    guests.linker.define(host_function<count_syscall>("linux", "syscall"));
    char name[] = "/tmp/cloche-handlers-XXXXXX";
    folder = mkdtemp(name);
    const auto path = folder / "program.wasm";
    const auto bytes = from_wat(program);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto loaded = guests.store.load(path, Interruption::signals);
    ASSERT_TRUE(loaded) << loaded.error().sentence();
    ASSERT_EQ((*loaded)->interruption(), Interruption::signals);
    module = *guests.linker.link(*loaded);
  }
  ~PreemptedHandlersTest() override {
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }

  std::unique_ptr<Instance> make(Owner& owner, Mode mode) {
    auto guest = guests.make(module, {.owner = &owner});
    guest->set_epoch_handler(handle);
    set_mode(*guest, mode);
    return guest;
  }
  static void set_mode(Instance& guest, Mode mode) {
    EXPECT_TRUE(guest.set_global("mode", Value::i32(static_cast<std::int32_t>(mode))));
  }
  static int handled(Instance& guest) { return guest.global("handled")->as_i32(); }

  // Interrupts again and again, at moments that have nothing to do with the guest.
  class Storm {
   public:
    Storm(Owner& owner, std::chrono::microseconds mean)
        : thread_([this, &owner, mean] {
            std::minstd_rand random(3);
            while (!over_) {
              test_engine().interrupt(&owner);
              std::this_thread::sleep_for(mean * static_cast<int>(random() % 200) / 100);
            }
          }) {}
    ~Storm() {
      over_ = true;
      thread_.join();
    }

   private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
  };

  GuestMaker guests;
  std::filesystem::path folder;
  std::shared_ptr<const LinkedModule> module;
};

TEST_F(PreemptedHandlersTest, WhoIsCalledBetweenTwoInstructionsChangesNoResult) {
  on_guest_thread([&] {
    Owner quiet;
    const auto outcome = make(quiet, Mode::count)->call("compute");
    ASSERT_TRUE(outcome.returned()) << outcome.message;
    for (const auto& [mode, often] :
         {std::pair{Mode::count, 200us}, std::pair{Mode::call_host, 200us},
          std::pair{Mode::grow, 200us}, std::pair{Mode::jump_often, 30000us}}) {
      Owner owner;
      const auto guest = make(owner, mode);
      int seen = 0;
      for (int i = 0; i < 100 && seen < 10; ++i) {
        std::memset(guest->memory().base(), 0, 65536);
        const Storm storm(owner, often);
        const auto disturbed = guest->call("compute");
        ASSERT_TRUE(disturbed.returned()) << disturbed.message;
        EXPECT_EQ(disturbed.result, outcome.result);
        seen = handled(*guest);
      }
      EXPECT_GE(seen, 10) << static_cast<int>(mode);
      EXPECT_EQ(guest->depth(), 0);
    }
  });
}

TEST_F(PreemptedHandlersTest, AHandlerThatSpinsIsInterrupted) {
  for (const char* name : endless) {
    on_guest_thread([&] {
      Owner owner;
      const auto guest = make(owner, Mode::spin);
      std::thread interrupter([&] {
        // The second comes where the first handler spins.
        for (int wanted = 1; wanted <= 3; ++wanted) {
          test_engine().interrupt(&owner);
          while (owner.asked < wanted) std::this_thread::sleep_for(100us);
        }
        owner.end = true;
        test_engine().interrupt(&owner);
      });
      EXPECT_EQ(guest->call(name).ending, Ending::exited) << name;
      interrupter.join();
      EXPECT_GE(handled(*guest), 2);
    });
  }
}

TEST_F(PreemptedHandlersTest, WhatAHandlerThrowsIsCaughtByWhoHasCalled) {
  std::array<int, 2> caught{};
  std::minstd_rand random(5);
  for (std::uint32_t which = 0; which < endless.size(); ++which) {
    on_guest_thread([&] {
      for (int i = 0; i < 15; ++i) {
        Owner owner;
        const auto guest = make(owner, Mode::jump);
        std::thread interrupter([&, delay = std::chrono::microseconds(random() % 300)] {
          while (owner.called_host == 0) std::this_thread::yield();
          std::this_thread::sleep_for(delay);
          test_engine().interrupt(&owner);
        });
        const auto outcome = guest->call("catch", {Value::i32(which)});
        interrupter.join();
        // "jumps" catches by itself what comes while it throws, and finds that it is another's.
        if (std::string_view(endless[which]) == "jumps" && outcome.trap == Trap::unreachable)
          continue;
        ASSERT_TRUE(outcome.returned()) << endless[which] << ' ' << outcome.message;
        ASSERT_TRUE(outcome.result == Value::i32(107) || outcome.result == Value::i32(7))
            << endless[which] << ' ' << outcome.result.as_i32();
        ++caught[outcome.result == Value::i32(107) ? 0 : 1];
        EXPECT_EQ(handled(*guest), 1);
      }
    });
  }
  EXPECT_GT(caught[0], 30);
}

TEST_F(PreemptedHandlersTest, WhatNobodyCatchesEndsTheCall) {
  for (const char* name : {"spin", "leaves", "fills", "hosts"}) {
    on_guest_thread([&] {
      Owner owner;
      const auto guest = make(owner, Mode::jump);
      std::thread interrupter([&] {
        std::this_thread::sleep_for(2ms);
        test_engine().interrupt(&owner);
      });
      EXPECT_EQ(guest->call(name).trap, Trap::uncaught_exception) << name;
      interrupter.join();
    });
  }
}

TEST_F(PreemptedHandlersTest, AHandlerThatTrapsEndsTheGuest) {
  for (const Mode mode : {Mode::trap, Mode::overflow}) {
    for (const char* name : endless) {
      on_guest_thread([&] {
        Owner owner;
        const auto guest = make(owner, mode);
        std::thread interrupter([&] {
          std::this_thread::sleep_for(1ms);
          test_engine().interrupt(&owner);
        });
        EXPECT_EQ(guest->call(name).ending, Ending::exited) << name;
        interrupter.join();
        EXPECT_EQ(handled(*guest), 1);
      });
    }
  }
}

// What came before the guest's first instruction, or in a host function.
TEST_F(PreemptedHandlersTest, AHandlerIsCalledWhereAGuestIsAboutToGoOn) {
  on_guest_thread([&] {
    Owner owner;
    auto guest = make(owner, Mode::count);
    test_engine().interrupt(&owner);
    EXPECT_TRUE(guest->call("compute").returned());
    EXPECT_GE(handled(*guest), 1);
    set_mode(*guest, Mode::jump);
    test_engine().interrupt(&owner);
    EXPECT_EQ(guest->call("compute").trap, Trap::uncaught_exception);
  });
}

// Where a function is stopped before it has a frame of its own, and after, what is thrown goes to
// its caller, not beyond.
TEST_F(PreemptedHandlersTest, GoesOnInTheFrameOfTheCaller) {
  constexpr std::uintptr_t raise = 0x1234;
  struct Frame {
    std::uintptr_t caller_frame = 0xaaaa;
    std::uintptr_t return_address = 0xbbbb;
  };
  const auto go_on = [&](std::initializer_list<unsigned char> code, std::uintptr_t stack,
                         std::uintptr_t frame) {
    std::array<unsigned char, 8> bytes{};
    std::ranges::copy(code, bytes.begin());
    ucontext_t context{};
    auto& registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(bytes.data()));
    registers[REG_RSP] = static_cast<greg_t>(stack);
    registers[REG_RBP] = static_cast<greg_t>(frame);
    GuestContext().go_on_raising(context, {.begin = 1, .end = 2, .raise = raise, .trap = 3});
    EXPECT_EQ(registers[REG_RIP], static_cast<greg_t>(raise));
    return std::pair(static_cast<std::uintptr_t>(registers[REG_RSP]),
                     static_cast<std::uintptr_t>(registers[REG_RBP]));
  };
  const Frame frame;
  const auto address = reinterpret_cast<std::uintptr_t>(&frame);
  const auto at_return = reinterpret_cast<std::uintptr_t>(&frame.return_address);
  const auto callers = std::pair(at_return, frame.caller_frame);
  EXPECT_EQ(go_on({0x55, 0x48, 0x89, 0xe5}, at_return, 0xaaaa), callers);
  EXPECT_EQ(go_on({0x48, 0x89, 0xe5}, address, 0xaaaa), callers);
  EXPECT_EQ(go_on({0x90}, address - 64, address), callers);
  EXPECT_EQ(go_on({0x5d, 0xc3}, address, address), callers);
  EXPECT_EQ(go_on({0xc3}, at_return, 0xaaaa), callers);
  EXPECT_EQ(go_on({0xc2, 0x10, 0x00}, at_return, 0xaaaa), callers);
}

// Each life has a random loop and a random handler, is interrupted at random moments, and ended.
// CLOCHE_PREEMPTION_SECONDS makes it longer.
TEST_F(PreemptedHandlersTest, ManyLivesOnManyThreadsEndAtRandomMoments) {
  std::atomic<int> lives = 0;
  std::atomic<int> handlers = 0;
  live_many_times(1500ms, [&](std::minstd_rand& random) {
    on_guest_thread([&] {
      for (int i = 0; i < 50 && !HasFailure(); ++i) {
        Owner owner;
        const auto guest = make(owner, static_cast<Mode>(random() % 8));
        ASSERT_EQ(*guest->memory().read<std::uint32_t>(52), 0U);
        std::atomic<bool> over = false;
        std::thread interrupter(
            [&, count = random() % 6, most = 1 + random() % 700, moment = random()]() mutable {
              for (unsigned n = 0; n < count && !over; ++n) {
                moment = moment * 48271 % 2147483647;
                std::this_thread::sleep_for(std::chrono::microseconds(moment % most));
                test_engine().interrupt(&owner);
              }
              owner.end = true;
              test_engine().interrupt(&owner);
            });
        const std::uint32_t which = random() % endless.size();
        const bool catches = random() % 2 == 0;
        const auto outcome =
            catches ? guest->call("catch", {Value::i32(which)}) : guest->call(endless[which]);
        over = true;
        interrupter.join();
        const bool jumped = outcome.returned() || outcome.trap == Trap::uncaught_exception ||
                            outcome.trap == Trap::unreachable;
        EXPECT_TRUE(outcome.ending == Ending::exited || jumped) << outcome.message;
        EXPECT_EQ(guest->depth(), 0);
        handlers += handled(*guest);
        ++lives;
      }
    });
  });
  RecordProperty("lives", lives);
  RecordProperty("handlers", handlers);
  EXPECT_GT(lives, 20);
  EXPECT_GT(handlers, 10);
}

}  // namespace
}  // namespace cloche::wasm

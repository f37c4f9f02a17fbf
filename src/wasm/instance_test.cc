// SPDX-License-Identifier: Apache-2.0
#include "wasm/instance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

struct Owner {
  int calls = 0;
  std::atomic<int> epochs = 0;
  Outcome nested;
  EpochAction answer = EpochAction::proceed;
};

std::int32_t host_add(HostCall& call, std::int32_t a, std::int32_t b) noexcept {
  ++call.owner<Owner>().calls;
  return a + b;
}
void host_exit(HostCall& call, std::int32_t) noexcept { call.unwind(); }
double host_mix(HostCall&, std::int64_t a, float b, double c) noexcept {
  return static_cast<double>(a) + static_cast<double>(b) + c;
}
std::int32_t host_peek(HostCall& call, std::uint32_t address) noexcept {
  const auto value = call.memory().read<std::int32_t>(address);
  return value ? *value : -static_cast<std::int32_t>(value.error());
}
void host_nest(HostCall& call) noexcept {
  auto& owner = call.owner<Owner>();
  owner.nested = call.instance().call("inner");
  if (owner.nested.ending == Ending::exited) call.unwind();
}

// As much stack as a callback may use.
void host_deep(HostCall& call) noexcept {
  volatile char frame[600 * 1024];
  frame[0] = 1;  // its lowest address
  call.owner<Owner>().calls += frame[0];
}
void host_recurse(HostCall& call) noexcept {
  auto& owner = call.owner<Owner>();
  ++owner.calls;
  const auto outcome = call.instance().call("run");
  if (outcome.trap != Trap::none) owner.nested = outcome;
}

class InstanceTest : public testing::Test {
 protected:
  InstanceTest() {
    guests.linker.define(host_function<host_add>("test", "add"));
    guests.linker.define(host_function<host_exit>("test", "exit"));
    guests.linker.define(host_function<host_mix>("test", "mix"));
    guests.linker.define(host_function<host_peek>("test", "peek"));
    guests.linker.define(host_function<host_nest>("test", "nest"));
    guests.linker.define(host_function<host_deep>("test", "deep"));
    guests.linker.define(host_function<host_recurse>("test", "recurse"));
  }

  Outcome run(std::string_view wat, std::string_view name = "run") {
    Outcome outcome;
    on_guest_thread([&] { outcome = guests.make(wat, {.owner = &owner})->call(name); });
    return outcome;
  }

  GuestMaker guests;
  Owner owner;
};

TEST_F(InstanceTest, CallsExportsAndHostFunctions) {
  const auto outcome = run(R"((module (import "test" "add" (func $add (param i32 i32) (result i32)))
    (func (export "run") (result i32) (call $add (i32.const 40) (i32.const 2)))))");
  EXPECT_TRUE(outcome.returned());
  EXPECT_EQ(outcome.result, Value::i32(42));
  EXPECT_EQ(owner.calls, 1);
}

TEST_F(InstanceTest, PassesEachNumberTypeBothWays) {
  const auto outcome = run(R"((module
    (import "test" "mix" (func $mix (param i64 f32 f64) (result f64)))
    (func (export "run") (result f64)
      (call $mix (i64.const 0x100000000) (f32.const 0.5) (f64.const 0.25)))))");
  EXPECT_EQ(outcome.result, Value::f64(4294967296.75));
}

TEST_F(InstanceTest, RefusesACallOfAnotherShape) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (func (export "f") (param i32))
      (func (export "r") (param externref)) (memory (export "memory") 1)))");
    EXPECT_EQ(guest->call("f").ending, Ending::not_callable);
    EXPECT_EQ(guest->call("f", {Value::i64(1)}).ending, Ending::not_callable);
    EXPECT_EQ(guest->call("g").ending, Ending::not_callable);
    EXPECT_EQ(guest->call("r", {Value::i32(1)}).ending, Ending::not_callable);
    EXPECT_EQ(guest->call("memory").ending, Ending::not_callable);
    EXPECT_TRUE(guest->call("f", {Value::i32(1)}).returned());
  });
}

TEST_F(InstanceTest, AHostFunctionEndsTheGuest) {
  const auto outcome = run(R"((module (import "test" "exit" (func $exit (param i32)))
    (func (export "run") (try_table (catch_all 0) (call $exit (i32.const 3))) unreachable)))");
  EXPECT_EQ(outcome.ending, Ending::exited);
}

struct TrapCase {
  std::string_view body;
  Trap trap;
};

class TrapTest : public InstanceTest, public testing::WithParamInterface<TrapCase> {};

TEST_P(TrapTest, IsNamed) {
  const auto outcome = run(fmt::format(R"((module (memory (export "memory") 1) (table 4 funcref)
    (type $v (func)) (func $other (param i32)) (elem (i32.const 1) $other) (tag $t)
    (func $run (export "run") {})))",
                                       GetParam().body));
  EXPECT_EQ(outcome.ending, Ending::trapped);
  EXPECT_EQ(outcome.trap, GetParam().trap) << outcome.message;
  EXPECT_FALSE(outcome.message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Traps, TrapTest,
    testing::Values(
        TrapCase{"(drop (i32.load (i32.const -1)))", Trap::memory},
        TrapCase{"(i32.store offset=0xffffffff (i32.const -1) (i32.const 0))", Trap::memory},
        TrapCase{"(memory.fill (i32.const 1) (i32.const 0) (i32.const 65536))", Trap::memory},
        TrapCase{"(call $run)", Trap::stack_overflow}, TrapCase{"unreachable", Trap::unreachable},
        TrapCase{"(drop (i32.div_s (i32.const 1) (i32.const 0)))", Trap::division_by_zero},
        TrapCase{"(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))",
                 Trap::integer_overflow},
        TrapCase{"(drop (i32.trunc_f64_s (f64.const nan)))", Trap::bad_conversion},
        TrapCase{"(call_indirect (type $v) (i32.const 0))", Trap::bad_indirect_call},
        TrapCase{"(call_indirect (type $v) (i32.const 1))", Trap::bad_indirect_call},
        TrapCase{"(call_indirect (type $v) (i32.const 99))", Trap::bad_indirect_call},
        TrapCase{"(throw $t)", Trap::uncaught_exception}));

TEST_F(InstanceTest, AnInstanceOutlivesATrap) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (func (export "bad") unreachable)
      (tag $t) (func (export "throw") (throw $t))
      (func (export "good") (result i32) (i32.const 7))))");
    EXPECT_EQ(guest->call("bad").trap, Trap::unreachable);
    EXPECT_EQ(guest->call("throw").trap, Trap::uncaught_exception);
    EXPECT_EQ(guest->call("good").result, Value::i32(7));
  });
}

TEST_F(InstanceTest, MemoryGrowsToItsLimitAndNoFurther) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (memory (export "memory") 1 8)
      (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))))",
                                   {.memory_limit_bytes = 3 * 65536});
    EXPECT_EQ(guest->memory().size(), 65536U);
    EXPECT_EQ(guest->call("grow", {Value::i32(1)}).result, Value::i32(1));
    EXPECT_EQ(guest->memory().size(), 2U * 65536);
    EXPECT_EQ(guest->call("grow", {Value::i32(2)}).result, Value::i32(-1));
    EXPECT_EQ(guest->grow(2).error(), Errno::nomem);
    EXPECT_EQ(*guest->grow(1), 3U * 65536);
    guest->set_memory_limit(~std::uint64_t{0});
    EXPECT_EQ(*guest->grow(5), 8U * 65536);
    EXPECT_EQ(guest->grow(1).error(), Errno::nomem);
    EXPECT_EQ(guest->grow(~std::uint64_t{0}).error(), Errno::nomem);
  });
}

TEST_F(InstanceTest, AProgramTooBigForTheLimitIsNotMade) {
  const auto guest = Instance::create(guests.link(R"((module (memory (export "memory") 100)))"),
                                      {.memory_limit_bytes = 65536});
  EXPECT_EQ(guest.error().code(), Errno::nomem);
  EXPECT_THAT(guest.error().sentence(), testing::HasSubstr("6553600"));
}

TEST_F(InstanceTest, AHiddenMemoryIsLimitedToo) {
  const auto guest =
      Instance::create(guests.link(R"((module (memory 100)))"), {.memory_limit_bytes = 65536});
  EXPECT_EQ(guest.error().code(), Errno::nomem);
}

TEST_F(InstanceTest, TablesAreLimited) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (table 1 funcref)
      (func (export "grow") (result i32) (table.grow (ref.null func) (i32.const 100)))))",
                                   {.table_limit_elements = 50});
    EXPECT_EQ(guest->call("grow").result, Value::i32(-1));
  });
  EXPECT_FALSE(
      Instance::create(guests.link("(module (table 100 funcref))"), {.table_limit_elements = 50}));
}

TEST_F(InstanceTest, ExceptionsThatAGuestKeepsAreLimited) {
  std::string types, values;
  for (int i = 0; i < 100; ++i) {
    types += " i64";
    values += "(i64.const 1)";
  }
  on_guest_thread([&] {
    const auto guest = guests.make(fmt::format(R"((module (tag $t (param{}))
      (table $kept 100000 exnref)
      (func (export "run") (local $i i32) (local $e exnref)
        (loop $next
          (block $caught (result exnref)
            (try_table (catch_all_ref $caught) {} (throw $t)) unreachable)
          (local.set $e)
          (table.set $kept (local.get $i) (local.get $e))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $i) (i32.const 100000)))))))",
                                               types, values),
                                   {.memory_limit_bytes = 4 << 20});
    const auto outcome = guest->call("run");
    EXPECT_EQ(outcome.trap, Trap::out_of_memory) << outcome.message;
  });
}

TEST_F(InstanceTest, ManyExceptionsNeedNoMemory) {
  on_guest_thread([&] {
    const auto guest = guests.make(R"((module (tag $t (param i32))
      (func $jump (throw $t (i32.const 5)))
      (func (export "run") (result i32) (local $i i32)
        (loop $next
          (block $caught (result i32) (try_table (catch $t $caught) (call $jump)) unreachable)
          (drop)
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $i) (i32.const 200000))))
        (local.get $i))))",
                                   {.memory_limit_bytes = 1 << 20});
    EXPECT_EQ(guest->call("run").result, Value::i32(200'000));
  });
}

TEST_F(InstanceTest, ATrapInTheStartFunctionIsAnErrorOfCreate) {
  on_guest_thread([&] {
    const auto guest =
        Instance::create(guests.link("(module (func $f unreachable) (start $f))"), {});
    EXPECT_EQ(guest.error().code(), Errno::noexec);
    EXPECT_THAT(guest.error().sentence(), testing::HasSubstr("unreachable"));
  });
}

TEST_F(InstanceTest, AStartFunctionDoesNotReachTheHost) {
  on_guest_thread([&] {
    const auto guest = Instance::create(guests.link(R"((module
      (import "test" "add" (func $add (param i32 i32) (result i32)))
      (func $f (drop (call $add (i32.const 1) (i32.const 2)))) (start $f)))"),
                                        {.owner = &owner});
    EXPECT_EQ(guest.error().code(), Errno::noexec);
    EXPECT_THAT(guest.error().sentence(), testing::HasSubstr("start function"));
    EXPECT_EQ(owner.calls, 0);
  });
}

TEST_F(InstanceTest, ReadsAndSetsExportedGlobals) {
  const auto guest = guests.make(R"((module (global (export "sp") (mut i32) (i32.const 5))
    (global (export "k") i32 (i32.const 9)) (global (export "wide") (mut i64) (i64.const -1))))");
  EXPECT_EQ(guest->global("sp"), Value::i32(5));
  EXPECT_EQ(guest->global("k"), Value::i32(9));
  EXPECT_EQ(guest->global("wide"), Value::i64(~std::uint64_t{0}));
  EXPECT_EQ(guest->global("none"), std::nullopt);
  EXPECT_TRUE(guest->set_global("sp", Value::i32(6)));
  EXPECT_EQ(guest->global("sp"), Value::i32(6));
  EXPECT_EQ(guest->set_global("k", Value::i32(6)).error(), Errno::inval);
  EXPECT_EQ(guest->set_global("sp", Value::i64(6)).error(), Errno::inval);
  EXPECT_EQ(guest->set_global("none", Value::i32(6)).error(), Errno::inval);
}

TEST_F(InstanceTest, HostFunctionsSeeGuestMemory) {
  const auto outcome = run(R"((module (import "test" "peek" (func $peek (param i32) (result i32)))
    (memory (export "memory") 1) (data (i32.const 65532) "\01\02\00\00")
    (func (export "run") (result i32)
      (i32.add (call $peek (i32.const 65532)) (call $peek (i32.const 65533))))))");
  EXPECT_EQ(outcome.result, Value::i32(0x201 - 14));
}

constexpr std::string_view nesting = R"((module (import "test" "nest" (func $nest))
  (import "test" "exit" (func $exit (param i32))) (tag $t)
  (global $mode (export "mode") (mut i32) (i32.const 0))
  (func (export "inner")
    (if (i32.eq (global.get $mode) (i32.const 1)) (then (call $exit (i32.const 0))))
    (if (i32.eq (global.get $mode) (i32.const 2)) (then (throw $t)))
    (if (i32.eq (global.get $mode) (i32.const 3)) (then unreachable)))
  (func (export "run") (result i32) (call $nest) (i32.const 11))))";

TEST_F(InstanceTest, NestedCallsEndOnTheirOwn) {
  on_guest_thread([&] {
    const auto guest = guests.make(nesting, {.owner = &owner});
    EXPECT_EQ(guest->call("run").result, Value::i32(11));
    EXPECT_TRUE(owner.nested.returned());

    ASSERT_TRUE(guest->set_global("mode", Value::i32(2)));
    EXPECT_EQ(guest->call("run").result, Value::i32(11));
    EXPECT_EQ(owner.nested.trap, Trap::uncaught_exception);

    ASSERT_TRUE(guest->set_global("mode", Value::i32(3)));
    EXPECT_EQ(guest->call("run").result, Value::i32(11));
    EXPECT_EQ(owner.nested.trap, Trap::unreachable);

    ASSERT_TRUE(guest->set_global("mode", Value::i32(1)));
    EXPECT_EQ(guest->call("run").ending, Ending::exited);
    EXPECT_EQ(guest->depth(), 0);
  });
}

TEST_F(InstanceTest, ACallbackHasStackAtTheDeepestFrameOfTheGuest) {
  const auto outcome = run(R"((module (import "test" "deep" (func $deep))
    (func $run (export "run") (call $deep) (call $run))))");
  EXPECT_EQ(outcome.trap, Trap::stack_overflow);
  EXPECT_GT(owner.calls, 1000);
}

TEST_F(InstanceTest, ARecursionThroughTheHostEndsAsAStackOverflow) {
  const auto outcome = run(R"((module (import "test" "recurse" (func $recurse))
    (func (export "run") (call $recurse))))");
  EXPECT_TRUE(outcome.returned());
  EXPECT_EQ(owner.nested.trap, Trap::stack_overflow);
  EXPECT_GT(owner.calls, 100);
}

// A guest that computes until its memory says stop; `inner` is what the epoch handler calls. The
// byte at 8 says that it is in its loop.
constexpr std::string_view looping = R"((module (memory (export "memory") 1)
  (tag $t (param i32)) (global $mode (export "mode") (mut i32) (i32.const 0))
  (func (export "inner")
    (i32.store (i32.const 0) (i32.const 1))
    (if (i32.eq (global.get $mode) (i32.const 1)) (then (throw $t (i32.const 77))))
    (if (i32.eq (global.get $mode) (i32.const 2)) (then unreachable)))
  (func $loop (loop
    (i32.store8 (i32.const 8) (i32.const 1))
    (br_if 0 (i32.eqz (i32.load (i32.const 0))))))
  (func (export "run") (result i32) (call $loop) (i32.const 5))
  (func $spin (loop (i32.store8 (i32.const 8) (i32.const 1)) (br_if 0 (i32.eqz (i32.const 0)))))
  (func (export "catch") (result i32)
    (block $caught (result i32) (try_table (catch $t $caught) (call $spin)) (i32.const 0)))
  (func (export "catch_own") (result i32)
    (block $caught (result i32)
      (try_table (catch $t $caught)
        (loop (i32.store8 (i32.const 8) (i32.const 1)) (br_if 0 (i32.eqz (i32.const 0)))))
      (i32.const 0)))))";

EpochAction count_epoch(Instance&, void* data) noexcept {
  auto& owner = *static_cast<Owner*>(data);
  ++owner.epochs;
  return owner.answer;
}

EpochAction call_inner(Instance& instance, void* data) noexcept {
  auto& owner = *static_cast<Owner*>(data);
  if (*instance.memory().read<std::uint8_t>(8) == 0) return EpochAction::proceed;
  if (owner.epochs++ > 0) return EpochAction::proceed;  // a later tick met the inner call
  owner.nested = instance.call("inner");
  return owner.answer;
}

class EpochTest : public InstanceTest {
 protected:
  // Calls `name` while another thread interrupts, until the handler runs or the call ends.
  Outcome interrupted_call(Instance& guest, std::string_view name) {
    owner.epochs = 0;
    EXPECT_TRUE(guest.memory().write<std::uint64_t>(0, 0));
    EXPECT_TRUE(guest.memory().write<std::uint64_t>(8, 0));
    std::atomic<bool> ended = false;
    std::thread interrupter([&] {
      while (!ended && owner.epochs == 0) {
        test_engine().interrupt();
        std::this_thread::yield();
      }
    });
    Outcome outcome = guest.call(name);
    ended = true;
    interrupter.join();
    return outcome;
  }
};

TEST_F(EpochTest, WithoutAHandlerTheCallEnds) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    const auto outcome = interrupted_call(*guest, "run");
    EXPECT_EQ(outcome.trap, Trap::interrupted);
  });
}

TEST_F(EpochTest, TheHandlerMayUnwind) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(count_epoch);
    owner.answer = EpochAction::unwind;
    EXPECT_EQ(interrupted_call(*guest, "run").ending, Ending::exited);
    EXPECT_GE(owner.epochs, 1);
  });
}

TEST_F(EpochTest, TheHandlerMayCallTheGuestWhichThenGoesOn) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_inner);
    const auto outcome = interrupted_call(*guest, "run");
    EXPECT_EQ(outcome.result, Value::i32(5)) << outcome.message;
    EXPECT_TRUE(owner.nested.returned());
  });
}

TEST_F(EpochTest, AnExceptionOfTheInnerCallGoesOnIntoTheInterruptedFrames) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_inner);
    owner.answer = EpochAction::rethrow;
    ASSERT_TRUE(guest->set_global("mode", Value::i32(1)));
    for (int i = 0; i < 20; ++i) {
      const auto outcome = interrupted_call(*guest, "catch");
      ASSERT_TRUE(outcome.returned()) << outcome.message;
      EXPECT_EQ(outcome.result, Value::i32(77));
      EXPECT_EQ(owner.nested.trap, Trap::uncaught_exception);
    }
    EXPECT_EQ(interrupted_call(*guest, "run").trap, Trap::uncaught_exception);
    // wasmtime looks for handlers at calls, and an epoch check is none.
    EXPECT_EQ(interrupted_call(*guest, "catch_own").trap, Trap::uncaught_exception);
  });
}

TEST_F(EpochTest, AnExceptionThatIsNotRethrownIsGone) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_inner);
    ASSERT_TRUE(guest->set_global("mode", Value::i32(1)));
    EXPECT_EQ(interrupted_call(*guest, "run").result, Value::i32(5));
    EXPECT_EQ(owner.nested.trap, Trap::uncaught_exception);
  });
}

TEST_F(EpochTest, ATrapOfTheInnerCallIsTheHandlersToJudge) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_inner);
    ASSERT_TRUE(guest->set_global("mode", Value::i32(2)));
    owner.answer = EpochAction::unwind;
    EXPECT_EQ(interrupted_call(*guest, "run").ending, Ending::exited);
    EXPECT_EQ(owner.nested.trap, Trap::unreachable);
  });
}

EpochAction call_endless(Instance& instance, void* data) noexcept {
  auto& owner = *static_cast<Owner*>(data);
  if (owner.epochs++ == 10) return EpochAction::unwind;
  if (instance.depth() > 1) return EpochAction::proceed;
  owner.nested = instance.call("run");
  return owner.nested.ending == Ending::exited ? EpochAction::unwind : EpochAction::proceed;
}

TEST_F(EpochTest, AnInnerCallThatComputesForeverIsInterruptedToo) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_endless);
    std::atomic<bool> ended = false;
    std::thread interrupter([&] {
      while (!ended) {
        test_engine().interrupt();
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(guest->call("run").ending, Ending::exited);
    ended = true;
    interrupter.join();
    EXPECT_EQ(owner.nested.ending, Ending::exited);
    EXPECT_EQ(owner.epochs, 11);
  });
}

TEST_F(EpochTest, InterruptSelfNeedsNoFurtherTick) {
  on_guest_thread([&] {
    const auto guest = guests.make(looping, {.owner = &owner});
    guest->set_epoch_handler(call_inner);
    guest->interrupt_self();
    ASSERT_TRUE(guest->memory().write<std::uint8_t>(8, 1));
    EXPECT_EQ(guest->call("run").result, Value::i32(5));
    EXPECT_EQ(owner.epochs, 1);
  });
}

TEST_F(InstanceTest, TwoMayShareOneMemory) {
  on_guest_thread([&] {
    const auto module = guests.link(R"((module (memory (export "memory") 1 8)
      (data (i32.const 0) "\\07")
      (global (export "own") (mut i32) (i32.const 5))
      (func (export "grow") (result i32) (memory.grow (i32.const 1)))
      (func (export "size") (result i32) (memory.size))
      (func (export "put") (param i32) (i32.store (i32.const 0) (local.get 0)))
      (func (export "get") (result i32) (i32.load (i32.const 0)))
      (func (export "fill") (memory.fill (i32.const 0x10000) (i32.const 1) (i32.const 0x10000)))))");
    const auto first = guests.make(module);
    ASSERT_TRUE(first->call("put", {Value::i32(40)}).returned());
    const auto second = guests.make(module, {.memory_of = first.get()});
    EXPECT_EQ(second->call("get").result, Value::i32(40));  // its data is not put there anew
    ASSERT_TRUE(second->set_global("own", Value::i32(6)));
    EXPECT_EQ(first->global("own"), Value::i32(5));
    EXPECT_EQ(second->call("grow").result, Value::i32(1));
    first->follow_memory();
    EXPECT_EQ(first->call("size").result, Value::i32(2));
    EXPECT_TRUE(first->call("fill").returned());
    EXPECT_EQ(first->call("grow").result, Value::i32(2));
    EXPECT_EQ(first->memory().size(), 3U << 16);
  });
}

TEST_F(InstanceTest, AProgramWithUnknownImportsIsRefused) {
  const auto module =
      guests.store.load(from_wat(R"((module (import "env" "magic" (func (param i32)))))"), "odd");
  ASSERT_TRUE(module);
  const Error why = guests.linker.link(*module).error();
  EXPECT_EQ(why.code(), Errno::noexec);
  EXPECT_THAT(why.sentence(), testing::HasSubstr("env.magic"));
}

TEST_F(InstanceTest, AnImportOfAnotherTypeIsRefused) {
  const auto module =
      guests.store.load(from_wat(R"((module (import "test" "add" (func (param i64)))))"), "odd");
  const Error why = guests.linker.link(*module).error();
  EXPECT_EQ(why.code(), Errno::noexec);
  EXPECT_NE(why.sentence(), "");
}

TEST_F(InstanceTest, AMissingInterfaceFunctionAnswersNotImplemented) {
  const auto outcome = run(R"((module
    (import "wasi_snapshot_preview1" "sock_open" (func $a (param i32 i32) (result i32)))
    (import "linux" "future" (func $b (result i32)))
    (func (export "run") (result i32)
      (i32.sub (call $a (i32.const 1) (i32.const 2)) (call $b)))))");
  EXPECT_EQ(outcome.result, Value::i32(52 + 38));
}

TEST_F(InstanceTest, LinkingTwiceGivesTheSame) {
  const auto module = guests.store.load(from_wat("(module)"), "empty");
  EXPECT_EQ(*guests.linker.link(*module), *guests.linker.link(*module));
}

TEST_F(InstanceTest, ModulesAreDescribed) {
  const auto linked = guests.link(R"((module
    (import "linux" "syscall" (func (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2 9) (func (export "_start"))
    (global (export "__stack_pointer") (mut i32) (i32.const 0))))");
  const ModuleInfo& info = linked->module().info();
  EXPECT_EQ(info.interface, Interface::linux_abi);
  EXPECT_EQ(info.memory_min_pages, 2U);
  EXPECT_EQ(info.memory_max_pages, 9U);
  EXPECT_TRUE(info.has_export("_start"));
  EXPECT_TRUE(info.find_export("__stack_pointer")->is_mutable);
  EXPECT_FALSE(info.has_export("_initialize"));
  EXPECT_EQ(info.imports.size(), 1U);
}

}  // namespace
}  // namespace cloche::wasm

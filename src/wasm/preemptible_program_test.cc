// SPDX-License-Identifier: Apache-2.0
#include "wasm/preemptible_program.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "wasm/code_reader.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

constexpr std::string_view program = R"((module (memory (export "memory") 1)
  (func (export "copy") (param i32 i32 i32)
    (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "fill") (param i32 i32 i32)
    (memory.fill (local.get 0) (local.get 1) (local.get 2)))))";
constexpr std::uint32_t size = 65536;

class PreemptibleProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_engine().preempts()) GTEST_SKIP() << "signals cannot interrupt guests here";
  }

  // A guest of the rewritten program, with random bytes in its memory, which are here too.
  template <typename Body>
  void with_guest(Body body) {
    on_guest_thread([&] {
      const auto rewritten = make_preemptible(from_wat(program));
      ASSERT_TRUE(rewritten);
      const auto module = guests.store.load(*rewritten, "rewritten");
      ASSERT_TRUE(module) << module.error().sentence();
      const auto guest = guests.make(*guests.linker.link(*module));
      expected.resize(size);
      for (char& byte : expected) byte = static_cast<char>(random());
      std::memcpy(guest->memory().base(), expected.data(), size);
      body(*guest);
    });
  }
  bool is_same(Instance& guest) const {
    return std::memcmp(guest.memory().base(), expected.data(), size) == 0;
  }
  static std::vector<Value> values(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return {Value::i32(a), Value::i32(b), Value::i32(c)};
  }

  void copy(Instance& guest, std::uint32_t to, std::uint32_t from, std::uint32_t n) {
    ASSERT_TRUE(guest.call("copy", values(to, from, n)).returned());
    std::memmove(expected.data() + to, expected.data() + from, n);
    ASSERT_TRUE(is_same(guest)) << to << ' ' << from << ' ' << n;
  }
  void fill(Instance& guest, std::uint32_t to, std::uint32_t value, std::uint32_t n) {
    ASSERT_TRUE(guest.call("fill", values(to, value, n)).returned());
    std::memset(expected.data() + to, static_cast<int>(value), n);
    ASSERT_TRUE(is_same(guest)) << to << ' ' << n;
  }

  GuestMaker guests;
  std::minstd_rand random{7};
  std::string expected;
};

TEST_F(PreemptibleProgramTest, CopiesAsTheInstruction) {
  with_guest([&](Instance& guest) {
    for (std::uint32_t n = 0; n <= 200; ++n) {
      for (const std::uint32_t away : {0U, 1U, 3U, 8U, 15U, 16U, 17U, 63U, 64U, 65U, 300U}) {
        copy(guest, 1000 + away, 1000, n);
        copy(guest, 1000, 1000 + away, n);
      }
      copy(guest, size - n, 5, n);
      copy(guest, 0, size - n, n);
      if (HasFatalFailure()) return;
    }
    for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
      const auto n = static_cast<std::uint32_t>(random() % (size / 2));
      copy(guest, static_cast<std::uint32_t>(random() % (size - n)),
           static_cast<std::uint32_t>(random() % (size - n)), n);
    }
  });
}

TEST_F(PreemptibleProgramTest, FillsAsTheInstruction) {
  with_guest([&](Instance& guest) {
    for (std::uint32_t n = 0; n <= 300 && !HasFatalFailure(); ++n) {
      fill(guest, 1000 + n % 17, n * 77, n);
      fill(guest, size - n, n, n);
    }
    fill(guest, 0, 0xabcdef12, size);
  });
}

TEST_F(PreemptibleProgramTest, WhatIsOutOfBoundsTrapsBeforeItWrites) {
  with_guest([&](Instance& guest) {
    for (const auto& [to, from, n] :
         {std::array{size - 7, 0U, 8U}, std::array{0U, size - 7, 8U}, std::array{size + 1, 0U, 0U},
          std::array{0U, 0U, 0xffffffffU}, std::array{0xffffffffU, 0U, 0xffffffffU},
          std::array{0xffffffffU, 0xffffffffU, 1U}}) {
      EXPECT_EQ(guest.call("copy", values(to, from, n)).trap, Trap::memory) << to << ' ' << n;
      EXPECT_TRUE(is_same(guest));
    }
    for (const auto& [to, n] : {std::array{size - 7, 8U}, std::array{size + 1, 0U},
                                std::array{0xffffffffU, 0xffffffffU}, std::array{0U, size + 1}}) {
      EXPECT_EQ(guest.call("fill", values(to, 9, n)).trap, Trap::memory) << to << ' ' << n;
      EXPECT_TRUE(is_same(guest));
    }
  });
}

// Every sort of operand is passed over: what follows is found still.
TEST_F(PreemptibleProgramTest, FindsTheInstructionsBetweenAllOthers) {
  const auto good = from_wat(R"((module (memory 1) (table $t 1 funcref) (tag $e (param i32))
    (type $f (func (param i32) (result i32))) (global $g (mut i64) (i64.const -1))
    (elem declare func $main)
    (func $main (param i32) (result i32) (local i32 i64) (local v128 f32 f64 funcref)
      (br_table 0 0 0 (local.get 0) (local.get 0)))
    (func (param i32) (local v128)
      (block $c (result i32) (try_table (catch $e $c) (throw $e (i32.const 5))) (i32.const 1)) (drop)
      (drop (f64.const 1e300)) (drop (f32.const 2)) (drop (i64.const -9223372036854775808))
      (drop (select (result funcref) (ref.func $main) (ref.null func) (local.get 0)))
      (drop (call_indirect (type $f) (i32.const 1) (i32.const 0)))
      (memory.fill (i32.const 252) (i32.const 11) (i32.const 10))
      (drop (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31 (local.get 1) (local.get 1)))
      (v128.store8_lane offset=70000 3 (i32.const 0) (v128.const i64x2 0x0afc 0x0bfc))
      (drop (i32x4.extract_lane 2 (local.get 1))) (drop (i32.trunc_sat_f64_s (f64.const 3)))
      (drop (table.grow (ref.null func) (i32.const 0))) (drop (i64.load32_u offset=9 (i32.const 1)))
      (global.set $g (i64.extend_i32_u (memory.size))) (drop (memory.grow (i32.const 0)))
      (memory.copy (i32.const 0) (i32.const 8) (i32.const 4)))))");
  ASSERT_FALSE(good.empty());
  std::size_t found = 0;
  ASSERT_TRUE(for_each_section(good, [&](const WasmSection& section) {
    if (section.id != static_cast<std::uint8_t>(Section::code)) return true;
    WasmReader reader(section.content);
    const auto count = reader.number();
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto length = reader.number();
      WasmReader body(*reader.take(*length));
      const auto groups = body.number();
      for (std::uint32_t group = 0; group < *groups; ++group) {
        EXPECT_TRUE(body.number() && skip_value_type(body));
      }
      while (!body.at_end()) {
        const auto instruction = next_instruction(body);
        if (!instruction) return false;
        found += *instruction == Instruction::memory_copy ||
                 *instruction == Instruction::memory_fill ||
                 *instruction == Instruction::memory_grow;
      }
    }
    return true;
  }));
  EXPECT_EQ(found, 3U);
  const auto rewritten = make_preemptible(good);
  ASSERT_TRUE(rewritten);
  EXPECT_TRUE(guests.store.load(*rewritten, "rewritten"));
}

TEST_F(PreemptibleProgramTest, WhatIsCutShortIsRefused) {
  const auto wasm = from_wat(program);
  for (std::size_t length = 0; length < wasm.size(); ++length) {
    const auto result = make_preemptible(std::span(wasm).first(length));
    if (!result) continue;
    EXPECT_FALSE(guests.store.load(*result, "cut")) << length;
  }
}

}  // namespace
}  // namespace cloche::wasm

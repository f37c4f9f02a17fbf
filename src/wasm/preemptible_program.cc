// SPDX-License-Identifier: Apache-2.0
#include "wasm/preemptible_program.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "wasm/code_reader.h"
#include "wasm/native.h"
#include "wasm/wasm_reader.h"

namespace cloche::wasm {
namespace {

using Bytes = std::vector<std::byte>;

// As the instructions: what is out of bounds traps before anything is written. Ends are done by
// vectors that overlap what the loops do.
constexpr std::string_view own_functions = R"((module (memory 1)
  (func $copy (param $to i32) (param $from i32) (param $n i32)
      (local $edge v128) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
      (local $wide i64) (local $word i32) (local $byte i32)
    (if (i64.gt_u
          (i64.add
            (i64.extend_i32_u (select (local.get $to) (local.get $from)
              (i32.gt_u (local.get $to) (local.get $from))))
            (i64.extend_i32_u (local.get $n)))
          (i64.shl (i64.extend_i32_u (memory.size)) (i64.const 16)))
      (then (drop (i32.load8_u offset=4294967295 (i32.const -1)))))
    (if (i32.le_u (local.get $n) (i32.const 16)) (then
      (if (i32.ge_u (local.get $n) (i32.const 8)) (then
        (local.set $wide
          (i64.load (i32.sub (i32.add (local.get $from) (local.get $n)) (i32.const 8))))
        (i64.store (local.get $to) (i64.load (local.get $from)))
        (i64.store (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 8))
          (local.get $wide))
        (return)))
      (if (i32.ge_u (local.get $n) (i32.const 4)) (then
        (local.set $word
          (i32.load (i32.sub (i32.add (local.get $from) (local.get $n)) (i32.const 4))))
        (i32.store (local.get $to) (i32.load (local.get $from)))
        (i32.store (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 4))
          (local.get $word))
        (return)))
      (if (i32.eqz (local.get $n)) (then (return)))
      (local.set $word
        (i32.load8_u (i32.add (local.get $from) (i32.shr_u (local.get $n) (i32.const 1)))))
      (local.set $byte
        (i32.load8_u (i32.sub (i32.add (local.get $from) (local.get $n)) (i32.const 1))))
      (i32.store8 (local.get $to) (i32.load8_u (local.get $from)))
      (i32.store8 (i32.add (local.get $to) (i32.shr_u (local.get $n) (i32.const 1)))
        (local.get $word))
      (i32.store8 (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 1))
        (local.get $byte))
      (return)))
    (if (i32.ge_u (i32.sub (local.get $to) (local.get $from)) (local.get $n)) (then
      (local.set $edge
        (v128.load (i32.sub (i32.add (local.get $from) (local.get $n)) (i32.const 16))))
      (block $done (loop $more
        (br_if $done (i32.lt_u (local.get $n) (i32.const 64)))
        (local.set $a (v128.load (local.get $from)))
        (local.set $b (v128.load offset=16 (local.get $from)))
        (local.set $c (v128.load offset=32 (local.get $from)))
        (local.set $d (v128.load offset=48 (local.get $from)))
        (v128.store (local.get $to) (local.get $a))
        (v128.store offset=16 (local.get $to) (local.get $b))
        (v128.store offset=32 (local.get $to) (local.get $c))
        (v128.store offset=48 (local.get $to) (local.get $d))
        (local.set $to (i32.add (local.get $to) (i32.const 64)))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (local.set $n (i32.sub (local.get $n) (i32.const 64)))
        (br $more)))
      (block $done (loop $more
        (br_if $done (i32.le_u (local.get $n) (i32.const 16)))
        (v128.store (local.get $to) (v128.load (local.get $from)))
        (local.set $to (i32.add (local.get $to) (i32.const 16)))
        (local.set $from (i32.add (local.get $from) (i32.const 16)))
        (local.set $n (i32.sub (local.get $n) (i32.const 16)))
        (br $more)))
      (v128.store (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 16))
        (local.get $edge))
      (return)))
    (local.set $edge (v128.load (local.get $from)))
    (block $done (loop $more
      (br_if $done (i32.lt_u (local.get $n) (i32.const 64)))
      (local.set $n (i32.sub (local.get $n) (i32.const 64)))
      (local.set $a (v128.load (i32.add (local.get $from) (local.get $n))))
      (local.set $b (v128.load offset=16 (i32.add (local.get $from) (local.get $n))))
      (local.set $c (v128.load offset=32 (i32.add (local.get $from) (local.get $n))))
      (local.set $d (v128.load offset=48 (i32.add (local.get $from) (local.get $n))))
      (v128.store (i32.add (local.get $to) (local.get $n)) (local.get $a))
      (v128.store offset=16 (i32.add (local.get $to) (local.get $n)) (local.get $b))
      (v128.store offset=32 (i32.add (local.get $to) (local.get $n)) (local.get $c))
      (v128.store offset=48 (i32.add (local.get $to) (local.get $n)) (local.get $d))
      (br $more)))
    (block $done (loop $more
      (br_if $done (i32.le_u (local.get $n) (i32.const 16)))
      (local.set $n (i32.sub (local.get $n) (i32.const 16)))
      (v128.store (i32.add (local.get $to) (local.get $n))
        (v128.load (i32.add (local.get $from) (local.get $n))))
      (br $more)))
    (v128.store (local.get $to) (local.get $edge)))

  (func $fill (param $to i32) (param $value i32) (param $n i32)
      (local $edge v128) (local $wide i64) (local $end i32)
    (if (i64.gt_u
          (i64.add (i64.extend_i32_u (local.get $to)) (i64.extend_i32_u (local.get $n)))
          (i64.shl (i64.extend_i32_u (memory.size)) (i64.const 16)))
      (then (drop (i32.load8_u offset=4294967295 (i32.const -1)))))
    (local.set $edge (i8x16.splat (local.get $value)))
    (if (i32.lt_u (local.get $n) (i32.const 16)) (then
      (local.set $wide (i64x2.extract_lane 0 (local.get $edge)))
      (if (i32.ge_u (local.get $n) (i32.const 8)) (then
        (i64.store (local.get $to) (local.get $wide))
        (i64.store (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 8))
          (local.get $wide))
        (return)))
      (if (i32.ge_u (local.get $n) (i32.const 4)) (then
        (i64.store32 (local.get $to) (local.get $wide))
        (i64.store32 (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 4))
          (local.get $wide))
        (return)))
      (if (i32.eqz (local.get $n)) (then (return)))
      (i32.store8 (local.get $to) (local.get $value))
      (i32.store8 (i32.add (local.get $to) (i32.shr_u (local.get $n) (i32.const 1)))
        (local.get $value))
      (i32.store8 (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 1))
        (local.get $value))
      (return)))
    (local.set $end (i32.sub (i32.add (local.get $to) (local.get $n)) (i32.const 16)))
    (v128.store (local.get $end) (local.get $edge))
    (block $done (loop $more
      (br_if $done (i32.lt_u (i32.sub (local.get $end) (local.get $to)) (i32.const 64)))
      (v128.store (local.get $to) (local.get $edge))
      (v128.store offset=16 (local.get $to) (local.get $edge))
      (v128.store offset=32 (local.get $to) (local.get $edge))
      (v128.store offset=48 (local.get $to) (local.get $edge))
      (local.set $to (i32.add (local.get $to) (i32.const 64)))
      (br $more)))
    (block $done (loop $more
      (br_if $done (i32.ge_u (local.get $to) (local.get $end)))
      (v128.store (local.get $to) (local.get $edge))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br $more))))

  (func unreachable)
))";

constexpr std::uint8_t call_opcode = 0x10;
constexpr std::size_t function_count = 3;  // copy, fill, trap
// (i32, i32, i32) -> () and () -> ()
constexpr std::size_t type_count = 2;
constexpr std::array<std::uint8_t, 9> types_of_functions{0x60, 3, 0x7f, 0x7f, 0x7f, 0, 0x60, 0, 0};

void put_number(Bytes& to, std::uint64_t value) {
  do {
    const auto low = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    to.push_back(static_cast<std::byte>(value != 0 ? low | 0x80U : low));
  } while (value != 0);
}

void put(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void put_section(Bytes& to, std::uint8_t id, std::span<const std::byte> content) {
  to.push_back(static_cast<std::byte>(id));
  put_number(to, content.size());
  put(to, content);
}

bool is(const WasmSection& section, Section id) noexcept {
  return section.id == static_cast<std::uint8_t>(id);
}

// The content of the code section of our own functions, without the count.
std::optional<Bytes> own_bodies() {
  ByteVec binary;
  const Native<wasmtime_error_t> error(
      wasmtime_wat2wasm(own_functions.data(), own_functions.size(), &binary));
  if (error) return std::nullopt;
  Bytes bodies;
  for_each_section(std::as_bytes(std::span(binary.data, binary.size)),
                   [&](const WasmSection& section) {
                     if (!is(section, Section::code)) return true;
                     WasmReader reader(section.content);
                     if (reader.number() == function_count) put(bodies, reader.rest());
                     return true;
                   });
  if (bodies.empty()) return std::nullopt;
  return bodies;
}

std::optional<std::uint32_t> imported_functions(std::span<const std::byte> section) {
  WasmReader reader(section);
  const auto count = reader.number();
  if (!count) return std::nullopt;
  for (std::uint32_t i = 0; i < *count; ++i) {
    for (int name = 0; name < 2; ++name) {
      const auto length = reader.number();
      if (!length || !reader.take(*length)) return std::nullopt;
    }
    // Programs of ours import functions only.
    if (reader.byte() != 0 || !reader.number()) return std::nullopt;
  }
  return count;
}

class Rewriting {
 public:
  bool use(const WasmSection& section) {
    if (is(section, Section::type)) return add_type(section.content);
    if (is(section, Section::import)) {
      const auto count = imported_functions(section.content);
      if (count) first_ += *count;
      put(result, section.whole);
      return count.has_value();
    }
    if (is(section, Section::function)) return add_functions(section.content);
    if (is(section, Section::code)) return rewrite_code(section.content);
    put(result, section.whole);
    return true;
  }

  Bytes result;
  bool has_functions = false;  // ours

 private:
  bool add_type(std::span<const std::byte> content) {
    WasmReader reader(content);
    const auto count = reader.number();
    if (!count) return false;
    type_ = *count;
    Bytes types;
    put_number(types, std::uint64_t{type_} + type_count);
    // A group of recursive types would have more indices than one.
    for (std::uint32_t i = 0; i < *count; ++i) {
      const std::span<const std::byte> from = reader.rest();
      if (reader.byte() != types_of_functions[0]) return false;
      for (int list = 0; list < 2; ++list) {
        const auto values = reader.number();
        for (std::uint32_t value = 0; values && value < *values; ++value) {
          if (!skip_value_type(reader)) return false;
        }
        if (!values) return false;
      }
      put(types, from.first(from.size() - reader.rest().size()));
    }
    put(types, std::as_bytes(std::span(types_of_functions)));
    put_section(result, static_cast<std::uint8_t>(Section::type), types);
    return true;
  }

  bool add_functions(std::span<const std::byte> content) {
    WasmReader reader(content);
    const auto count = reader.number();
    if (!count) return false;
    first_ += *count;
    Bytes functions;
    put_number(functions, std::uint64_t{*count} + function_count);
    put(functions, reader.rest());
    for (const std::uint32_t type : {type_, type_, type_ + 1}) put_number(functions, type);
    put_section(result, static_cast<std::uint8_t>(Section::function), functions);
    return true;
  }

  bool rewrite_code(std::span<const std::byte> content) {
    const auto own = own_bodies();
    WasmReader reader(content);
    const auto count = reader.number();
    if (!own || !count || *count == 0) return false;
    Bytes code;
    code.reserve(content.size() + own->size() + content.size() / 32);
    put_number(code, std::uint64_t{*count} + function_count);
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto size = reader.number();
      const auto body = size ? reader.take(*size) : std::nullopt;
      if (!body || !rewrite_body(*body)) return false;
      put_number(code, body_.size());
      put(code, body_);
    }
    put(code, *own);
    has_functions = true;
    put_section(result, static_cast<std::uint8_t>(Section::code), code);
    return true;
  }

  bool rewrite_body(std::span<const std::byte> body) {
    body_.clear();
    WasmReader reader(body);
    const auto groups = reader.number();
    for (std::uint32_t i = 0; groups && i < *groups; ++i) {
      if (!reader.number() || !skip_value_type(reader)) return false;
    }
    if (!groups) return false;
    std::span<const std::byte> from = body;
    while (!reader.at_end()) {
      const std::span<const std::byte> at = reader.rest();
      const auto instruction = next_instruction(reader);
      if (!instruction) return false;
      if (*instruction == Instruction::other) continue;
      put(body_, from.first(from.size() - at.size()));
      body_.push_back(static_cast<std::byte>(call_opcode));
      put_number(body_, first_ + (*instruction == Instruction::memory_copy ? 0U : 1U));
      from = reader.rest();
    }
    put(body_, from);
    return true;
  }

  std::uint32_t type_ = 0;
  std::uint32_t first_ = 0;  // of our functions: after all others
  Bytes body_;
};

}  // namespace

std::optional<std::vector<std::byte>> make_preemptible(std::span<const std::byte> wasm) {
  if (wasm.size() < wasm_header_bytes) return std::nullopt;
  Rewriting rewriting;
  put(rewriting.result, wasm.first(wasm_header_bytes));
  rewriting.result.reserve(wasm.size() + wasm.size() / 32);
  if (!for_each_section(wasm, [&](const WasmSection& section) { return rewriting.use(section); }) ||
      !rewriting.has_functions)
    return std::nullopt;
  return std::move(rewriting.result);
}

}  // namespace cloche::wasm

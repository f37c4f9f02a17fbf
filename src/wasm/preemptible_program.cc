// SPDX-License-Identifier: Apache-2.0
#include "wasm/preemptible_program.h"

#include <algorithm>
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

  (func $pause (local $n i32)
    (local.set $n (i32.const 256))
    (loop $more
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
))";

constexpr std::uint8_t unreachable = 0x00;
constexpr std::uint8_t call_opcode = 0x10;
constexpr std::size_t written_functions = 3;  // copy, fill, pause
constexpr std::size_t function_count = written_functions + functions_of_exits;
// (i32, i32, i32) -> () and () -> ()
constexpr std::size_t type_count = 2;
constexpr std::array<std::uint8_t, 9> types_of_functions{0x60, 3, 0x7f, 0x7f, 0x7f, 0, 0x60, 0, 0};
constexpr std::array<std::uint8_t, 4> type_of_longjmp{0x60, 1, 0x7f, 0};
constexpr std::byte exception_reference{0x69};
constexpr std::byte function_reference{0x70};
constexpr std::byte number_type{0x7f};
constexpr std::size_t syscall_parameters = 7;
constexpr std::array<std::uint8_t, 11> type_of_syscall{
    0x60, syscall_parameters, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f};

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

// The content of the code section of our own written functions, without the count.
std::optional<Bytes> written_bodies() {
  ByteVec binary;
  const Native<wasmtime_error_t> error(
      wasmtime_wat2wasm(own_functions.data(), own_functions.size(), &binary));
  if (error) return std::nullopt;
  Bytes bodies;
  for_each_section(std::as_bytes(std::span(binary.data, binary.size)),
                   [&](const WasmSection& section) {
                     if (!is(section, Section::code)) return true;
                     WasmReader reader(section.content);
                     if (reader.number() == written_functions) put(bodies, reader.rest());
                     return true;
                   });
  if (bodies.empty()) return std::nullopt;
  return bodies;
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<std::string_view> take_name(WasmReader& reader) noexcept {
  const auto length = reader.number();
  const auto name = length ? reader.take(*length) : std::nullopt;
  return name ? std::optional(text_of(*name)) : std::nullopt;
}

// What must be known of a program before its first section is written.
struct Outline {
  std::vector<std::span<const std::byte>> types{};
  std::uint32_t imports = 0;
  std::uint32_t functions = 0;  // of its own
  std::optional<std::uint32_t> syscall{};
  std::vector<std::uint32_t> tags{};  // the type of each
  bool has_handlers = false;

  bool read(const WasmSection& section) {
    WasmReader reader(section.content);
    if (is(section, Section::type)) return read_types(reader);
    if (is(section, Section::import)) return read_imports(reader);
    if (is(section, Section::tag)) return read_tags(reader);
    if (is(section, Section::export_)) return read_exports(reader);
    if (!is(section, Section::function)) return true;
    const auto count = reader.number();
    functions = count.value_or(0);
    return count.has_value();
  }

 private:
  bool read_types(WasmReader& reader) {
    const auto count = reader.number();
    // A group of recursive types would have more indices than one.
    for (std::uint32_t i = 0; count && i < *count; ++i) {
      const std::span<const std::byte> from = reader.rest();
      if (reader.byte() != types_of_functions[0]) return false;
      for (int list = 0; list < 2; ++list) {
        const auto values = reader.number();
        if (!values) return false;
        for (std::uint32_t value = 0; value < *values; ++value) {
          if (!skip_value_type(reader)) return false;
        }
      }
      types.push_back(from.first(from.size() - reader.rest().size()));
    }
    return count.has_value();
  }

  bool read_imports(WasmReader& reader) {
    const auto count = reader.number();
    imports = count.value_or(0);
    for (std::uint32_t i = 0; i < imports; ++i) {
      const auto from = take_name(reader);
      const auto name = from ? take_name(reader) : std::nullopt;
      // Programs of ours import functions only.
      const bool is_function = name && reader.byte() == 0;
      const auto type = is_function ? reader.number() : std::nullopt;
      if (!type || *type >= types.size()) return false;
      if (*from == "linux" && *name == "syscall" &&
          std::ranges::equal(types[*type], std::as_bytes(std::span(type_of_syscall))))
        syscall = i;
    }
    return count.has_value();
  }

  bool read_tags(WasmReader& reader) {
    const auto count = reader.number();
    for (std::uint32_t i = 0; count && i < *count; ++i) {
      const auto attribute = reader.byte();
      const auto type = attribute ? reader.number() : std::nullopt;
      if (!type || *type >= types.size()) return false;
      tags.push_back(*type);
    }
    return count.has_value();
  }

  bool read_exports(WasmReader& reader) {
    const auto count = reader.number();
    for (std::uint32_t i = 0; count && i < *count; ++i) {
      const auto name = take_name(reader);
      if (!name || !reader.byte() || !reader.number()) return false;
      has_handlers = has_handlers || *name == "__cloche_signal";
    }
    return count.has_value();
  }
};

// The only exception of a C program is longjmp's, which has one number with it.
bool can_call_handlers(const Outline& outline) {
  return outline.syscall && outline.tags.size() <= 1 &&
         (outline.tags.empty() || std::ranges::equal(outline.types[outline.tags[0]],
                                                     std::as_bytes(std::span(type_of_longjmp))));
}

void put_body(Bytes& to, std::span<const std::byte> instructions) {
  constexpr std::byte no_locals{0};
  constexpr std::byte end{0x0b};
  put_number(to, instructions.size() + 2);
  to.push_back(no_locals);
  put(to, instructions);
  to.push_back(end);
}

void put_opcode(Bytes& to, std::uint8_t opcode) { to.push_back(static_cast<std::byte>(opcode)); }

class Rewriting {
 public:
  explicit Rewriting(const Outline& outline)
      : outline_(outline), first_(outline.imports + outline.functions) {}

  bool use(const WasmSection& section) {
    if (is(section, Section::type)) return add_types(section.content);
    if (is(section, Section::function)) return add_functions(section.content);
    if (is(section, Section::code)) return rewrite_code(section.content);
    put(result, section.whole);
    return true;
  }

  Bytes result;
  bool has_functions = false;  // ours

 private:
  bool throws_by_function() const { return outline_.has_handlers && !outline_.tags.empty(); }

  bool add_types(std::span<const std::byte> content) {
    WasmReader reader(content);
    (void)reader.number();
    Bytes types;
    put_number(types, outline_.types.size() + type_count);
    put(types, reader.rest());
    put(types, std::as_bytes(std::span(types_of_functions)));
    put_section(result, static_cast<std::uint8_t>(Section::type), types);
    return true;
  }

  bool add_functions(std::span<const std::byte> content) {
    WasmReader reader(content);
    (void)reader.number();
    Bytes functions;
    put_number(functions, std::uint64_t{outline_.functions} + function_count);
    put(functions, reader.rest());
    const std::uint64_t own = outline_.types.size();
    const std::uint64_t thrown = throws_by_function() ? outline_.tags[0] : own + 1;
    for (const std::uint64_t type : {own, own, own + 1, thrown, own + 1, own + 1})
      put_number(functions, type);
    put_section(result, static_cast<std::uint8_t>(Section::function), functions);
    return true;
  }

  bool rewrite_code(std::span<const std::byte> content) {
    const auto written = written_bodies();
    WasmReader reader(content);
    const auto count = reader.number();
    if (!written || !count || *count == 0) return false;
    Bytes code;
    code.reserve(content.size() + written->size() + content.size() / 32);
    put_number(code, std::uint64_t{*count} + function_count);
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto size = reader.number();
      const auto body = size ? reader.take(*size) : std::nullopt;
      if (!body || !rewrite_body(*body)) return false;
      put_number(code, body_.size());
      put(code, body_);
    }
    put(code, *written);
    put_exits(code);
    has_functions = true;
    put_section(result, static_cast<std::uint8_t>(Section::code), code);
    return true;
  }

  // Throws, raises and traps.
  void put_exits(Bytes& code) const {
    constexpr std::uint8_t drop = 0x1a;
    constexpr std::uint8_t get_local = 0x20;
    constexpr std::uint8_t constant = 0x41;
    constexpr std::uint8_t throw_opcode = 0x08;
    Bytes instructions;
    if (throws_by_function()) {
      put_opcode(instructions, get_local);
      put_number(instructions, 0);
      put_opcode(instructions, throw_opcode);
      put_number(instructions, 0);
    } else {
      put_opcode(instructions, unreachable);
    }
    put_body(code, instructions);
    instructions.clear();
    if (outline_.has_handlers) {
      for (std::size_t i = 0; i < syscall_parameters; ++i) {
        put_opcode(instructions, constant);
        put_number(instructions, 0);
      }
      put_opcode(instructions, call_opcode);
      put_number(instructions, *outline_.syscall);
      put_opcode(instructions, drop);
    }
    put_opcode(instructions, unreachable);
    put_body(code, instructions);
    instructions.clear();
    put_opcode(instructions, unreachable);
    put_body(code, instructions);
  }

  // Of a local variable.
  bool put_type(std::span<const std::byte> type) {
    if (!outline_.has_handlers) {
      put(body_, type);
      return true;
    }
    const std::byte kind = type[0] == exception_reference ? number_type : type[0];
    body_.push_back(kind);
    constexpr std::byte first_plain{0x7b};  // a vector, and numbers
    return kind == function_reference || (kind >= first_plain && kind <= number_type);
  }

  // What stands for this instruction: the index of a function of ours. Nothing: itself.
  std::optional<std::uint32_t> function_for(Instruction instruction) const {
    switch (instruction) {
      case Instruction::memory_copy: return first_;
      case Instruction::memory_fill: return first_ + 1;
      case Instruction::throw_:
      case Instruction::throw_ref:
        if (throws_by_function()) return first_ + written_functions;
        break;
      default: break;
    }
    return std::nullopt;
  }

  bool rewrite_body(std::span<const std::byte> body) {
    body_.clear();
    WasmReader reader(body);
    const auto groups = reader.number();
    if (!groups) return false;
    put_number(body_, *groups);
    for (std::uint32_t i = 0; i < *groups; ++i) {
      const auto count = reader.number();
      const std::span<const std::byte> type = reader.rest();
      if (!count || !skip_value_type(reader)) return false;
      put_number(body_, *count);
      if (!put_type(type.first(type.size() - reader.rest().size()))) return false;
    }
    std::span<const std::byte> from = reader.rest();
    while (!reader.at_end()) {
      const std::span<const std::byte> at = reader.rest();
      const auto instruction = next_instruction(reader);
      if (!instruction) return false;
      if (*instruction == Instruction::other) continue;
      const auto before = from.first(from.size() - at.size());
      const auto own = at.first(at.size() - reader.rest().size());
      const bool throws = *instruction >= Instruction::throw_;
      if (const auto function = function_for(*instruction)) {
        put(body_, before);
        if (throws) put_pause();
        put_opcode(body_, call_opcode);
        put_number(body_, *function);
        // What follows a throw is as unreachable as before.
        if (throws) put_opcode(body_, unreachable);
      } else if (throws) {
        put(body_, before);
        put_pause();
        put(body_, own);
      } else if (*instruction == Instruction::memory_grow) {
        put(body_, before);
        put(body_, own);
        put_pause();
      } else if (throws_by_function()) {
        put(body_, before);
        if (!put_without_references(*instruction, own)) return false;
      } else {
        continue;
      }
      from = reader.rest();
    }
    put(body_, from);
    return true;
  }

  void put_pause() {
    put_opcode(body_, call_opcode);
    put_number(body_, first_ + 2);
  }

  // A block, of any sort.
  bool put_without_references(Instruction instruction, std::span<const std::byte> own) {
    WasmReader reader(own.subspan(1));
    (void)skip_value_type(reader);
    const auto type = own.subspan(1, own.size() - 1 - reader.rest().size());
    body_.push_back(own[0]);
    if (type[0] == exception_reference) {
      body_.push_back(number_type);
    } else {
      put(body_, type);
    }
    return instruction != Instruction::try_table || put_catches(reader);
  }

  bool put_catches(WasmReader& reader) {
    const std::uint32_t count = *reader.number();
    put_number(body_, count);
    for (std::uint32_t i = 0; i < count; ++i) {
      auto kind = static_cast<CatchKind>(*reader.byte());
      // The number would be there twice.
      if (kind == CatchKind::tag_ref) return false;
      std::uint32_t tag = 0;
      if (kind == CatchKind::tag) tag = reader.number().value_or(0);
      if (kind == CatchKind::all_ref) kind = CatchKind::tag;
      put_opcode(body_, static_cast<std::uint8_t>(kind));
      if (kind == CatchKind::tag) put_number(body_, tag);
      put_number(body_, reader.number().value_or(0));
    }
    return true;
  }

  const Outline& outline_;
  const std::uint32_t first_;  // of our functions: after all others
  Bytes body_;
};

}  // namespace

std::optional<std::vector<std::byte>> make_preemptible(std::span<const std::byte> wasm) {
  Outline outline;
  if (!for_each_section(wasm, [&](const WasmSection& section) { return outline.read(section); }) ||
      (outline.has_handlers && !can_call_handlers(outline)))
    return std::nullopt;
  Rewriting rewriting(outline);
  put(rewriting.result, wasm.first(wasm_header_bytes));
  rewriting.result.reserve(wasm.size() + wasm.size() / 32);
  if (!for_each_section(wasm, [&](const WasmSection& section) { return rewriting.use(section); }) ||
      !rewriting.has_functions)
    return std::nullopt;
  return std::move(rewriting.result);
}

}  // namespace cloche::wasm

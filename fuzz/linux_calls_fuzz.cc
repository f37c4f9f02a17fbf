// SPDX-License-Identifier: Apache-2.0
// Sequences of Linux calls with arbitrary numbers and arguments: no sequence may break the host.
#include "fuzz_machine.h"

namespace {

using namespace cloche;

constexpr std::string_view program = R"((module
  (import "test" "turn" (func $turn))
  (import "linux" "syscall" (func $syscall (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "linux" "clone" (func $clone (param i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global (export "__stack_pointer") (mut i32) (i32.const 65536))
  (global (export "__cloche_sigpending") i32 (i32.const 16))
  (global (export "__heap_base") i32 (i32.const 98304))
  (func (export "syscall") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    local.get 0 local.get 1 local.get 2 local.get 3 local.get 4 local.get 5 local.get 6 call $syscall)
  (func (export "clone") (param i32 i32 i32) (result i32)
    local.get 0 local.get 1 local.get 2 call $clone)
  ;; A signal is taken, and its handler is nothing: mask back, next one.
  (func (export "__cloche_signal")
    loop $next
      i32.const 0x1002 i32.const 0xe00 i32.const 0 i32.const 0 i32.const 0 i32.const 0 i32.const 0 call $syscall
      i32.const 1 i32.eq
      if
        i32.const 0x1003 (i32.load (i32.const 0xe10)) (i32.load (i32.const 0xe14))
        i32.const 0 i32.const 0 i32.const 0 i32.const 0 call $syscall drop
        br $next
      end
    end)
  (func (export "__clone_entry") (param i32 i32)
    i32.const 94 local.get 0 i32.const 0 i32.const 0 i32.const 0 i32.const 0 i32.const 0 call $syscall drop)
  (func (export "_start") call $turn)))";

void steps(wasm::HostCall& host, fuzz::Bytes input) {
  const auto word = [&] {
    return wasm::Value::i32(static_cast<std::uint32_t>(fuzz::argument(input)));
  };
  for (int step = 0; step < fuzz::max_steps && !input.done(); ++step) {
    const auto selector = input.take<std::uint8_t>();
    wasm::Outcome outcome;
    if (selector >= 240) {
      fuzz::fill(host.memory(), input);
    } else if (selector >= 232) {
      const std::array<wasm::Value, 3> arguments{word(), word(), word()};
      outcome = host.instance().call("clone", arguments);
    } else {
      std::array<wasm::Value, 7> arguments{wasm::Value::i32(fuzz::call_number(input))};
      // As many arguments as the selector says; the rest are zero.
      for (std::size_t i = 1; i <= selector % 7U; ++i) arguments[i] = word();
      outcome = host.instance().call("syscall", arguments);
    }
    if (!outcome.returned()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& machine = *new fuzz::Machine(program);
  machine.run([&](wasm::HostCall& host) { steps(host, {data, size}); }, fuzz::input_limit);
  return 0;
}

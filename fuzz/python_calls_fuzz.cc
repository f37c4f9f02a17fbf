// SPDX-License-Identifier: Apache-2.0
// Sequences of what the Python guest may ask of the host by its own import (python/host_door.h):
// system calls in frames, requests that are none, and threads of the interpreter, which go on with
// the same input where they begin and where they are made current. No sequence may break the host.
#include "fuzz_machine.h"
#include "python/frames.h"
#include "python/host_door.h"
#include "unknown_threads.h"

namespace {

using namespace cloche;

constexpr std::string_view program = R"((module
  (import "test" "turn" (func $turn))
  (import "test" "more" (func $more))
  (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global (export "__stack_pointer") (mut i32) (i32.const 65536))
  (func (export "call") (param i32 i32 i32 i32) (result i32)
    local.get 0 local.get 1 local.get 2 local.get 3 call $call)
  (func (export "host_alloc") (param i32) (result i32) (i32.load (i32.const 0x20)))
  (func (export "cloche_thread_start") (param i32) call $more)
  (func (export "cloche_thread_swap") (param i32) (result i32)
    (if (i32.load (i32.const 0x24)) (then call $more))
    (i32.load (i32.const 0x28)))
  (func (export "_start") call $turn)))";

constexpr std::uint32_t frame_at = 0x2000;
constexpr std::uint32_t answer_at = 0x30;

// Its threads take turns at it, one at a time.
struct Script {
  fuzz::Bytes input;
  int steps = 0;
};
Script* script = nullptr;

std::uint32_t word() { return static_cast<std::uint32_t>(fuzz::argument(script->input)); }

std::string system_call() {
  fuzz::Bytes& input = script->input;
  std::string frame(python::request::system_call.begin(), python::request::system_call.end());
  const auto add = [&](std::uint32_t value) {
    frame.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(fuzz::call_number(input));
  const auto marks = input.take<std::uint16_t>();  // six bits of each kind
  add((marks & 0x3fU) | (marks >> 6 & 0x1fU) << 8 | std::uint32_t{marks} >> 11 << 16);
  for (int i = 0; i < 6; ++i) add(word());
  return frame;
}

bool step(wasm::HostCall& host) {
  constexpr std::uint8_t systems = 120, own = 210, wild = 225;
  fuzz::Bytes& input = script->input;
  const auto selector = input.take<std::uint8_t>();
  if (selector >= wild) {
    fuzz::fill(host.memory(), input);
    return true;
  }
  std::array<std::uint32_t, 4> arguments{frame_at, 0, answer_at, answer_at + 4};
  if (selector >= own) {
    for (std::uint32_t& argument : arguments) argument = word();
  } else {
    std::string frame;
    if (selector < systems) {
      frame = system_call();
    } else {
      const python::Magic magic = python::request::all[selector % python::request::all.size()];
      frame.assign(magic.begin(), magic.end());
    }
    const auto data = input.take_bytes(input.take<std::uint8_t>());
    frame.append(reinterpret_cast<const char*>(data.data()), data.size());
    (void)host.memory().copy_out(frame_at, frame);
    arguments[1] = static_cast<std::uint32_t>(frame.size());
  }
  const std::array<wasm::Value, 4> values{
      wasm::Value::i32(arguments[0]), wasm::Value::i32(arguments[1]),
      wasm::Value::i32(arguments[2]), wasm::Value::i32(arguments[3])};
  return host.instance().call("call", values).returned();
}

void steps(wasm::HostCall& host, int most) {
  for (int done = 0; done < most && !script->input.done(); ++done) {
    if (++script->steps > fuzz::max_steps || !step(host)) return;
  }
}

void more(wasm::HostCall& host) noexcept {
  constexpr int most = 8;
  steps(host, most);
}

void define_imports(wasm::Linker& linker) {
  python::define_host_door(linker);
  linker.define(wasm::host_function<more>("test", "more"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& machine = *new fuzz::Machine(program, define_imports);
  Script all{{data, size}};
  script = &all;
  machine.run([](wasm::HostCall& host) { steps(host, fuzz::max_steps); }, fuzz::input_limit);
  script = nullptr;
  return 0;
}

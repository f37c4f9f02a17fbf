// SPDX-License-Identifier: Apache-2.0
// Sequences of WASI calls with arbitrary arguments: no sequence may break the host.
#include "fuzz_machine.h"
#include "kernel/wasi/wasi_call.h"
#include "wasm/wat_testing.h"

namespace {

using namespace cloche;

const std::vector<wasm::HostFunction>& functions() {
  static const std::vector<wasm::HostFunction> all = kernel::wasi::all_calls();
  return all;
}

void steps(wasm::HostCall& host, fuzz::Bytes input) {
  for (int step = 0; step < fuzz::max_steps && !input.done(); ++step) {
    const auto selector = input.take<std::uint8_t>();
    if (selector >= 240) {
      fuzz::fill(host.memory(), input);
      continue;
    }
    const wasm::HostFunction& function = functions()[selector % functions().size()];
    std::vector<wasm::Value> arguments;
    for (const wasm::ValueType type : function.parameters) {
      const std::uint64_t word = fuzz::argument(input);
      arguments.push_back(type == wasm::ValueType::i64
                              ? wasm::Value::i64(word)
                              : wasm::Value::i32(static_cast<std::uint32_t>(word)));
    }
    if (!host.instance().call(function.name, arguments).returned()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& machine = *new fuzz::Machine(wasm::forwarding_wat(functions()));
  machine.run([&](wasm::HostCall& host) { steps(host, {data, size}); }, fuzz::input_limit);
  return 0;
}

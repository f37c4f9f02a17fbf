// SPDX-License-Identifier: Apache-2.0
// Sequences of WASI calls with arbitrary arguments: no sequence may break the host.
#include <fmt/format.h>

#include "fuzz_machine.h"
#include "kernel/wasi/wasi_call.h"

namespace {

using namespace cloche;

std::vector<wasm::HostFunction> all_functions() {
  using namespace kernel::wasi;
  std::vector<wasm::HostFunction> all;
  for (const auto family : {args_calls, clock_calls, fd_calls, transfer_calls, directory_calls,
                            path_calls, poll_calls, process_calls, random_calls, socket_calls}) {
    for (wasm::HostFunction& function : family()) all.push_back(std::move(function));
  }
  return all;
}

const std::vector<wasm::HostFunction>& functions() {
  static const std::vector<wasm::HostFunction> all = all_functions();
  return all;
}

std::string types(std::string_view keyword, const std::vector<wasm::ValueType>& list) {
  std::string text;
  for (const wasm::ValueType type : list) {
    text += fmt::format(" ({} {})", keyword, type == wasm::ValueType::i64 ? "i64" : "i32");
  }
  return text;
}

// Every function under its own name, as an import and as an export that forwards to it.
std::string program() {
  std::string imports = R"((import "test" "turn" (func $turn)))";
  std::string exports;
  for (const wasm::HostFunction& function : functions()) {
    const std::string signature =
        types("param", function.parameters) + types("result", function.results);
    imports += fmt::format(R"((import "{}" "{}" (func ${}{})))", function.module, function.name,
                           function.name, signature);
    exports += fmt::format(R"((func (export "{}"){})", function.name, signature);
    for (std::size_t i = 0; i < function.parameters.size(); ++i)
      exports += fmt::format(" local.get {}", i);
    exports += fmt::format(" call ${})", function.name);
  }
  return fmt::format(
      R"((module {} (memory (export "memory") 2) {} (func (export "_start") call $turn)))", imports,
      exports);
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
  static auto& machine = *new fuzz::Machine(program());
  machine.run([&](wasm::HostCall& host) { steps(host, {data, size}); }, fuzz::input_limit);
  return 0;
}

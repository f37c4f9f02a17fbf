// SPDX-License-Identifier: Apache-2.0
#include "wasm/wat_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>

#include "wasm/native.h"

namespace cloche::wasm {
namespace {

std::string types(std::string_view keyword, const std::vector<ValueType>& list) {
  std::string text;
  for (const ValueType type : list)
    text += fmt::format(" ({} {})", keyword, type == ValueType::i64 ? "i64" : "i32");
  return text;
}

}  // namespace

std::vector<std::byte> from_wat(std::string_view text) {
  ByteVec binary;
  const Native<wasmtime_error_t> error(wasmtime_wat2wasm(text.data(), text.size(), &binary));
  if (error) {
    ADD_FAILURE() << message_of(error.get());
    return {};
  }
  const auto bytes = std::as_bytes(std::span(binary.data, binary.size));
  return {bytes.begin(), bytes.end()};
}

// Imports come before everything else in a module, so the two halves are put together apart.
std::string forwarding_wat(std::span<const HostFunction> functions) {
  std::string imports = R"((import "test" "turn" (func $turn)))";
  std::string exports;
  for (const HostFunction& function : functions) {
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

Engine& test_engine() {
  static Engine engine;
  return engine;
}

void on_guest_thread(const std::function<void()>& body) {
  GuestThreads threads;
  std::promise<void> done;
  ASSERT_TRUE(threads.run([&] {
    body();
    done.set_value();
  }));
  done.get_future().wait();
}

std::shared_ptr<const LinkedModule> GuestMaker::link(std::string_view wat) {
  const auto module = store.load(from_wat(wat), "test");
  if (!module) {
    ADD_FAILURE() << module.error().sentence();
    return nullptr;
  }
  const auto linked = linker.link(*module);
  if (!linked) ADD_FAILURE() << linked.error().sentence();
  return linked ? *linked : nullptr;
}

std::unique_ptr<Instance> GuestMaker::make(const std::shared_ptr<const LinkedModule>& module,
                                           const InstanceOptions& options) {
  auto instance = Instance::create(module, options);
  if (!instance) ADD_FAILURE() << instance.error().sentence();
  return instance ? *std::move(instance) : nullptr;
}

}  // namespace cloche::wasm

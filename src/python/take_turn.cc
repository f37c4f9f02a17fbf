// SPDX-License-Identifier: Apache-2.0
#include "python/take_turn.h"

#include "wasm/host_failure.h"

namespace cloche::python {

wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  wasm::Outcome outcome = instance.call("host_alloc", {wasm::Value::i32(length)});
  if (!outcome.returned()) return outcome;
  const std::uint32_t address = outcome.result.as_u32();
  if (address == 0 || !instance.memory().copy_out(address, frame))
    return wasm::host_failure("python has no memory for its start");
  return instance.call("turn", {wasm::Value::i32(address), wasm::Value::i32(length)});
}

}  // namespace cloche::python

// SPDX-License-Identifier: Apache-2.0
#include "wasm/host_failure.h"

#include <utility>

namespace cloche::wasm {

Outcome host_failure(std::string message) {
  Outcome outcome;
  outcome.ending = Ending::trapped;
  outcome.trap = Trap::other;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace cloche::wasm

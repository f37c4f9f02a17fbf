// SPDX-License-Identifier: Apache-2.0
// What a guest's call ended by when the host could not do its part of it.
#pragma once

#include <string>

#include "wasm/outcome.h"

namespace cloche::wasm {

// As a trap with these words.
Outcome host_failure(std::string message);

}  // namespace cloche::wasm

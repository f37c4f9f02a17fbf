// SPDX-License-Identifier: Apache-2.0
// How ModuleInfo is made. For the sources of this layer only.
#pragma once

#include <wasmtime.h>

#include "wasm/module.h"

namespace cloche::wasm {

ModuleInfo describe_module(const wasmtime_module_t* module, const Digest& digest,
                           std::uint64_t wasm_bytes);

}  // namespace cloche::wasm

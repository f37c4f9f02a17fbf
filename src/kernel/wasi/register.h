// SPDX-License-Identifier: Apache-2.0
// The imports of WASI guests: the 46 functions of wasi_snapshot_preview1.
#pragma once

#include "wasm/linker.h"

namespace cloche::kernel::wasi {

void define_imports(wasm::Linker& linker);

}  // namespace cloche::kernel::wasi

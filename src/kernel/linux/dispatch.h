// SPDX-License-Identifier: Apache-2.0
// The imports of Linux guests, `linux.syscall` and `linux.clone`.
#pragma once

#include "wasm/linker.h"

namespace cloche::kernel::lnx {

void define_imports(wasm::Linker& linker);

}  // namespace cloche::kernel::lnx

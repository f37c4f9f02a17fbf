// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/register.h"

#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {

void define_imports(wasm::Linker& linker) {
  for (const auto family : {args_calls, clock_calls, fd_calls, transfer_calls, directory_calls,
                            path_calls, poll_calls, process_calls, random_calls, socket_calls}) {
    for (const wasm::HostFunction& function : family()) linker.define(function);
  }
}

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/register.h"

#include <algorithm>
#include <iterator>

#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {

Functions all_calls() {
  Functions all;
  for (const auto family : {args_calls, clock_calls, fd_calls, transfer_calls, directory_calls,
                            path_calls, poll_calls, process_calls, random_calls, socket_calls}) {
    std::ranges::move(family(), std::back_inserter(all));
  }
  return all;
}

void define_imports(wasm::Linker& linker) {
  for (const wasm::HostFunction& function : all_calls()) linker.define(function);
}

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
// random_get.
#include <algorithm>

#include "kernel/kernel.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

// One turn with the lock held stays below some hundred microseconds, and a kill is seen between
// two.
constexpr std::size_t turn_bytes = std::size_t{64} << 10;

std::int32_t random_get(wasm::HostCall& host, std::uint32_t out, std::uint32_t length) noexcept {
  std::uint32_t done = 0;
  do {
    const Result<void> turn =
        enter_kernel(host, [&](Task& task, const wasm::GuestMemory& memory) -> Result<void> {
          CLOCHE_ASSIGN(const std::span<std::byte> bytes, memory.slice(out, length));
          const std::size_t count = std::min(bytes.size() - done, turn_bytes);
          Kernel::fill_random(bytes.subspan(done, count));
          done += static_cast<std::uint32_t>(count);
          if (done == length && task.kernel().options().trace_syscalls) {
            trace(task, "random_get", std::array<std::uint64_t, 2>{out, length}, {});
          }
          return {};
        });
    if (!turn) return errno_info(turn.error()).wasi;
  } while (done < length && !host.unwinding());
  return 0;
}

}  // namespace

Functions random_calls() { return {wasm::host_function<random_get>(module_name, "random_get")}; }

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
// One WASI call on its way: what a handler gets, what several families need, and how handlers
// become imports.
//
// A handler is a function `Result<void> fd_close(Call&, numbers...)` with the parameters of the
// WASI function. It runs with the kernel lock held, on the task's thread; it touches guest memory
// only through `call.memory`, and writes an out-parameter only when all else has succeeded. What it
// returns becomes the WASI errno. Errno::restart (a signal was attended to while it slept) issues
// the call again unless the guest is to unwind, or is an interpreter that was told of a signal
// (InterpreterSignals): then it is EINTR.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/host/host_entry.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/wasi/wasi_abi.h"

namespace cloche::kernel::wasi {

inline constexpr std::string_view module_name = "wasi_snapshot_preview1";

struct Call {
  Task& task;
  Kernel& kernel;
  Process& process;
  const wasm::GuestMemory& memory;

  Result<FilePtr> file(std::uint32_t fd) const REQUIRES(kernel_lock) {
    return process.fds.get(static_cast<std::int32_t>(fd));
  }

  // A path of `length` bytes. EFAULT; ENAMETOOLONG beyond 4095 bytes; EINVAL for one with a NUL;
  // ENOENT for the empty one.
  Result<std::string> path(std::uint32_t address, std::uint32_t length) const;

  // The buffers of an iovec array, all checked. EINVAL for more than 1024 of them or 2 GiB in sum;
  // EFAULT.
  using Buffers = std::vector<std::span<std::byte>>;
  Result<Buffers> buffers(std::uint32_t address, std::uint32_t count) const;

  // EFAULT unless a T fits at `address`: for calls whose effect cannot be taken back when writing
  // the result fails.
  template <typename T>
  Result<void> check_out(std::uint32_t address) const {
    if (!memory.holds(address, sizeof(T))) return Errno::fault;
    return {};
  }
};

// --- The families: each gives its functions ---

using Functions = std::vector<wasm::HostFunction>;
Functions args_calls();       // args_calls.cc: args_* environ_*
Functions clock_calls();      // clock_calls.cc: clock_*
Functions fd_calls();         // fd_calls.cc: descriptors: state, position, attributes
Functions transfer_calls();   // transfer_calls.cc: fd_read fd_write fd_pread fd_pwrite
Functions directory_calls();  // directory_calls.cc: fd_readdir fd_prestat_*
Functions path_calls();       // path_calls.cc: path_*
Functions poll_calls();       // poll_calls.cc: poll_oneoff
Functions process_calls();    // process_calls.cc: proc_* sched_yield
Functions random_calls();     // random_calls.cc: random_get
Functions socket_calls();     // socket_calls.cc: sock_*
Functions all_calls();        // register.cc: those of all families

// --- From handler to import ---

// A name as a template argument.
template <std::size_t n>
struct Name {
  char text[n];
  constexpr Name(const char (&literal)[n]) { std::copy_n(literal, n, text); }
};

bool traces(const Task& task) noexcept;
// One line of --trace-syscalls. Kernel lock held.
void trace(const Task& task, std::string_view name, std::span<const std::uint64_t> arguments,
           const Result<void>& result);

namespace detail {

Result<void> perform(Task& task, const auto& once) REQUIRES(kernel_lock) {
  for (;;) {
    const Result<void> result = once();
    if (result || result.error() != Errno::restart || task.unwinding()) return result;
    if (task.attend()) return Errno::intr;
  }
}

template <Name name, auto handler, typename... A>
std::int32_t enter(wasm::HostCall& host, A... arguments) noexcept {
  const Result<void> result = enter_kernel(
      host, [&](Task& task, const wasm::GuestMemory& memory) REQUIRES(kernel_lock) -> Result<void> {
        Call call{task, task.kernel(), task.process(), memory};
        const Result<void> outcome =
            perform(task, [&]() REQUIRES(kernel_lock) { return handler(call, arguments...); });
        if (traces(task)) {
          const std::array<std::uint64_t, sizeof...(A)> words{
              static_cast<std::uint64_t>(arguments)...};
          trace(task, name.text, words, outcome);
        }
        return outcome;
      });
  return result ? 0 : errno_info(result.error()).wasi;
}

template <Name name, auto handler, typename... A>
wasm::HostFunction make(Result<void> (*)(Call&, A...)) {
  return wasm::host_function<enter<name, handler, A...>>(module_name, name.text);
}

}  // namespace detail

// `function<"fd_close", fd_close>()`: the import of that name with that handler.
template <Name name, auto handler>
wasm::HostFunction function() {
  return detail::make<name, handler>(handler);
}

}  // namespace cloche::kernel::wasi

// SPDX-License-Identifier: Apache-2.0
// enter_kernel: the way of every system call from a guest into the kernel and back, the same for
// both interfaces.
//
//   std::int32_t fd_close(wasm::HostCall& host, std::uint32_t fd) noexcept {
//     auto result = enter_kernel(host,
//         [&](Task& task, const wasm::GuestMemory& memory) -> Result<void> { ... });
//     ...
//   }
//
// It takes the kernel lock, runs `body`, looks at the signals when there is something to look at
// (default actions and stops happen here, the guest's pending word is set here), and unwinds the
// guest when its task must end: then the result is not used. What the body throws never reaches
// wasmtime: no memory is ENOMEM, anything else EIO. Errno::restart comes out as it is: what it
// means to the guest is for the interface to say.
#pragma once

#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "kernel/process/task.h"
#include "kernel/time/kernel_lock.h"
#include "wasm/guest_memory.h"
#include "wasm/host_function.h"

namespace cloche::kernel {

namespace detail {

template <typename R, typename F>
R without_exceptions(F&& f) noexcept REQUIRES(kernel_lock) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return Errno::nomem;
  } catch (const std::length_error&) {
    return Errno::nomem;
  } catch (...) {
    return Errno::io;
  }
}

// What every call does before its body and after it. Holds the kernel lock as long as it lives.
class SCOPED_CAPABILITY KernelEntry {
 public:
  explicit KernelEntry(wasm::HostCall& host) ACQUIRE(kernel_lock);
  ~KernelEntry() RELEASE();
  KernelEntry(const KernelEntry&) = delete;
  KernelEntry& operator=(const KernelEntry&) = delete;

  Task& task() noexcept { return task_; }

 private:
  wasm::HostCall& host_;
  Task& task_;
  KernelLock lock_;
};

}  // namespace detail

template <typename Body>
auto enter_kernel(wasm::HostCall& host, Body&& body) noexcept {
  using R = std::invoke_result_t<Body, Task&, const wasm::GuestMemory&>;
  detail::KernelEntry entry(host);
  return detail::without_exceptions<R>([&]() REQUIRES(kernel_lock) -> R {
    const wasm::GuestMemory memory = host.memory();
    entry.task().note_memory(memory.size());
    return body(entry.task(), memory);
  });
}

}  // namespace cloche::kernel

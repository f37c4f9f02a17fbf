// SPDX-License-Identifier: Apache-2.0
// A WASI guest on strings: it imports every function of the interface, and calls whichever the
// test's body tells it to, with whatever arguments. The body runs on the guest's thread, in the
// middle of its `_start`.
//
//   TestKernel machine;
//   run_puppet(machine, {}, [](Puppet& guest) {
//     const std::uint32_t out = guest.reserve(8);
//     EXPECT_EQ(guest.call("fd_tell", 7, out), wasi_badf);
//   });
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

#include "kernel/guest_scratch_testing.h"
#include "kernel/kernel_testing.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/wasi/wasi_abi.h"
#include "wasm/instance.h"

namespace cloche::kernel::wasi {

// Errors as a WASI guest sees them.
enum WasiErrno : std::int32_t {
  ok = 0,
  acces = 2,
  badf = 8,
  exist = 20,
  fault = 21,
  fbig = 22,
  inval = 28,
  isdir = 31,
  loop = 32,
  mfile = 33,
  nametoolong = 37,
  noent = 44,
  nospc = 51,
  notdir = 54,
  notempty = 55,
  notsock = 57,
  notsup = 58,
  perm = 63,
  pipe = 64,
  spipe = 70,
  unwound = -1,
};

class Puppet : public GuestScratch {
 public:
  // The size of its memory: two pages, so that addresses near the end are easy to name.
  static constexpr std::uint32_t memory_bytes = 2 * 65536;

  Puppet(wasm::Instance& instance, Process& process)
      : GuestScratch(instance, memory_bytes), process_(process) {}

  Process& process() noexcept { return process_; }

  // Calls the WASI function of that name. The errno; `unwound` when the call ended the guest.
  template <typename... A>
  std::int32_t call(std::string_view name, A... arguments) {
    const std::array<wasm::Value, sizeof...(A)> values{value(arguments)...};
    return call_values(name, values);
  }

  // Calls `function` with these words, each as wide as the parameter.
  std::int32_t call_typed(const wasm::HostFunction& function,
                          const std::vector<std::uint64_t>& arguments);

  using GuestScratch::put;
  std::uint32_t put(std::string_view text);

  // Opens `path` below the preopen "/"; the descriptor, or the negative errno.
  std::int32_t open(std::string_view path, std::uint32_t oflags = 0,
                    Rights rights = right_fd_read | right_fd_readdir | right_fd_write,
                    std::uint32_t fdflags = 0);
  std::int32_t write(std::int32_t fd, std::string_view text);
  // What fd_read gives, at most `bytes`; "errno N" when it fails.
  std::string read(std::int32_t fd, std::uint32_t bytes);

 private:
  template <typename T>
  static wasm::Value value(T argument) {
    if constexpr (sizeof(T) == 8) return wasm::Value::i64(static_cast<std::uint64_t>(argument));
    return wasm::Value::i32(static_cast<std::uint32_t>(argument));
  }
  std::int32_t call_values(std::string_view name, std::span<const wasm::Value> arguments);

  Process& process_;
};

using PuppetBody = std::function<void(Puppet&)>;

// Puts the program at /bin/puppet, unless it is there, and starts it. `request.path` is filled in,
// argv too when it is empty.
ProcessPtr start_puppet(TestKernel& machine, SpawnRequest request, PuppetBody body);
// The same, to its end.
WaitStatus run_puppet(TestKernel& machine, SpawnRequest request, PuppetBody body);

}  // namespace cloche::kernel::wasi

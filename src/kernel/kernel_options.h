// SPDX-License-Identifier: Apache-2.0
// What a kernel is made with: the parts of the host process that all kernels share, and what is one
// sandbox's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kernel/limits.h"

namespace cloche::wasm {
class Engine;
class GuestThreads;
}  // namespace cloche::wasm

namespace cloche::kernel {

class HostProcess;
class ProgramStore;
class TimerThread;

// What all kernels of a host process share.
struct KernelServices {
  wasm::Engine& engine;
  wasm::GuestThreads& threads;
  ProgramStore& programs;
  TimerThread& timers;
  // Where set, the memory of programs that have rested for `idle_after` is packed (see
  // wasm/packed_memory.h), by callbacks of this one: some of them take a millisecond and more.
  TimerThread* idle_timers = nullptr;
  std::chrono::milliseconds idle_after{0};
};

// What a layer above keeps with a kernel, for the requests of its own guests that are no system
// calls. That layer derives from it and finds it by its type (python/host_services.h); the kernel
// asks nothing of it.
class KernelExtension {
 public:
  virtual ~KernelExtension() = default;
};

struct KernelOptions {
  KernelLimits limits;
  std::string host_name = "cloche";
  std::int32_t pid_max = 4'194'304;  // after it numbers of processes begin anew, as on Linux
  bool trace_syscalls = false;
  // Receives one line per traced call; called without order guarantees between processes, lock
  // held.
  std::function<void(std::string_view line)> trace_sink;
  // Lives as long as the kernel. Null: no layer above has anything here.
  std::unique_ptr<KernelExtension> extension;
  // What a process does that executes host_program(): its exit status. Called on the thread of the
  // process, without the kernel lock; it must not throw. See HostProcess.
  std::function<int(HostProcess& process)> host_program;
};

}  // namespace cloche::kernel

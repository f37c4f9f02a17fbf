// SPDX-License-Identifier: Apache-2.0
// What a kernel is made with: the parts of the host process that all kernels share, and what is one
// sandbox's own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/limits.h"
#include "kernel/process/process.h"

namespace cloche::wasm {
class Engine;
class GuestThreads;
}  // namespace cloche::wasm

namespace cloche::kernel {

class HostProcess;
class Kernel;
class ProgramStore;
class TimerThread;

// What all kernels of a host process share.
struct KernelServices {
  wasm::Engine& engine;
  wasm::GuestThreads& threads;
  ProgramStore& programs;
  TimerThread& timers;
};

enum class PackageChange : std::uint8_t { install, uninstall };

// A file of a package index, which the host's cache is asked for, or asked to keep.
struct CachedWheel {
  std::string origin;   // whom it comes from: Outbound::origin of an open connection
  std::string address;  // its own there, as the guest says
  std::array<std::uint8_t, 32> sha256{};
  std::uint64_t bytes_to_keep = 0;  // 0: it is asked for
};

struct KernelOptions {
  KernelLimits limits;
  std::string host_name = "cloche";
  bool trace_syscalls = false;
  // Receives one line per traced call; called without order guarantees between processes, lock
  // held.
  std::function<void(std::string_view line)> trace_sink;
  // Links a package of the build into the kernel's files, or takes it away; ENOENT when there is
  // none of that name. Called with the kernel lock held. Empty: there are no packages.
  std::function<Result<void>(Kernel& kernel, PackageChange change, std::string_view name)> packages;
  // Opens a file of the host's cache of wheels: to read one that is there (else ENOENT), or to
  // write one. Called with the kernel lock held. Empty: there is no cache.
  std::function<Result<FilePtr>(const CachedWheel& wheel)> wheels;
  // Told of a figure that a program has shown: the file that it is in. Called with the kernel lock
  // held. Empty: nobody wants to know.
  std::function<void(JobId job, std::string_view path)> figure_shown;
  // What a process does that executes host_program(): its exit status. Called on the thread of the
  // process, without the kernel lock; it must not throw. See HostProcess.
  std::function<int(HostProcess& process)> host_program;
};

}  // namespace cloche::kernel

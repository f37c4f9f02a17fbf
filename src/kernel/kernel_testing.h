// SPDX-License-Identifier: Apache-2.0
// A whole kernel for tests: an empty file system in memory, programs in text form, and files that
// catch what guests write.
//
// The tree has /bin and /etc (root's), /tmp (1777) and /workspace (the sandbox user's).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_options.h"
#include "kernel/process/process.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/timer_thread.h"
#include "vfs/memfs.h"
#include "vfs/path_operations.h"
#include "wasm/host_function.h"

namespace cloche::kernel {

class Kernel;

// Takes what is written; reads as an empty file.
class OutputFile : public File {
 public:
  OutputFile() : File(o_rdwr) {}
  Result<std::size_t> read(Task&, std::span<std::byte>) override REQUIRES(kernel_lock) {
    return std::size_t{0};
  }
  Result<std::size_t> write(Task&, std::span<const std::byte> from) override REQUIRES(kernel_lock) {
    text_.append(reinterpret_cast<const char*>(from.data()), from.size());
    return from.size();
  }
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock) {
    vfs::Stat stat;
    stat.type = vfs::FileType::fifo;
    return stat;
  }
  std::string description() const override REQUIRES(kernel_lock) { return "capture"; }
  // Once the writers have ended.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

// What a guest does when it calls the import `test.turn` (() -> ()): runs on its thread, without
// the kernel lock, and may call the guest's exports.
using GuestBody = std::function<void(wasm::HostCall& host)>;

class TestKernel {
 public:
  explicit TestKernel(KernelOptions options = {});
  // Its time is that of `timers`, which outlives it.
  explicit TestKernel(TimerThread& timers, KernelOptions options = {});
  ~TestKernel();
  TestKernel(const TestKernel&) = delete;
  TestKernel& operator=(const TestKernel&) = delete;

  Kernel& kernel() noexcept { return *kernel_; }
  vfs::Namespace& files() noexcept REQUIRES(kernel_lock);

  // Acts as root; the lock is held for the time of `body`.
  void with_files(const std::function<void(vfs::PathOperations&)>& body) EXCLUDES(kernel_lock);
  void write_file(std::string_view path, std::string_view content, std::uint32_t mode = 0644);
  // A program of root's in text form.
  void add_program(std::string_view path, std::string_view wat);

  ProcessPtr spawn(const SpawnRequest& request);
  // For a program that calls `test.turn`, once.
  ProcessPtr spawn(const SpawnRequest& request, GuestBody body);
  // Waits at most ten seconds, then fails the test and kills.
  WaitStatus wait(const ProcessPtr& process) EXCLUDES(kernel_lock);
  WaitStatus run(const SpawnRequest& request) EXCLUDES(kernel_lock) { return wait(spawn(request)); }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace cloche::kernel

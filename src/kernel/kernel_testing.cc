// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_testing.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/linux/dispatch.h"
#include "kernel/wasi/register.h"
#include "vfs/checked_operations.h"
#include "wasm/wat_testing.h"

namespace cloche::kernel {
namespace {

// Bodies wait here for their guest, or guests for their body: whichever comes first. The body of a
// guest that was killed before it asked stays; the weak reference sees to it that no later process
// has the same address.
class Bodies {
 public:
  void add(const ProcessPtr& process, GuestBody body) {
    const std::lock_guard lock(mutex_);
    bodies_[process] = std::move(body);
    changed_.notify_all();
  }
  GuestBody take(const std::weak_ptr<Process>& process) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bodies_.contains(process); });
    GuestBody body = std::move(bodies_[process]);
    bodies_.erase(process);
    return body;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::weak_ptr<Process>, GuestBody, std::owner_less<>> bodies_;
};

Bodies& bodies() {
  static Bodies all;
  return all;
}

void turn(wasm::HostCall& host) noexcept {
  bodies().take(host.owner<Task>().owner().weak_from_this())(host);
  // A call of the body may have ended the guest.
  (void)enter_kernel(host, [](Task&, const wasm::GuestMemory&) -> Result<void> { return {}; });
}

struct Services {
  wasm::ModuleStore modules{wasm::test_engine(), {}};
  wasm::Linker linker{wasm::test_engine()};
  ProgramStore programs{modules, linker};
  TimerThread timers;
  wasm::GuestThreads threads;

  Services() {
    lnx::define_imports(linker);
    wasi::define_imports(linker);
    linker.define(wasm::host_function<turn>("test", "turn"));
  }
};

Services& services() {
  static Services all;
  return all;
}

std::unique_ptr<vfs::Namespace> tree() {
  constexpr vfs::Quota quota{.bytes = std::uint64_t{64} << 20, .inodes = 10'000};
  auto files = std::make_unique<vfs::Namespace>(vfs::make_fs<vfs::MemFs>(quota, vfs::host_clock()));
  vfs::PathOperations paths(*files, files->root(), vfs::root_credentials());
  for (const char* path : {"/bin", "/etc", "/tmp", "/workspace"}) EXPECT_TRUE(paths.make_dir(path));
  EXPECT_TRUE(paths.chmod("/tmp", 01777));
  const Result<vfs::Node> home =
      files->lookup(files->root(), "/workspace", vfs::Follow::yes, vfs::root_credentials());
  EXPECT_TRUE(home && vfs::chown(*home, 1000, 1000, vfs::root_credentials()));
  return files;
}

}  // namespace

TestKernel::TestKernel(KernelOptions options) : TestKernel(services().timers, std::move(options)) {}

TestKernel::TestKernel(TimerThread& timers, KernelOptions options)
    : kernel_(std::make_unique<Kernel>(
          KernelServices{wasm::test_engine(), services().threads, services().programs, timers},
          tree(), std::move(options))) {}

TestKernel::~TestKernel() = default;

vfs::Namespace& TestKernel::files() noexcept { return kernel_->files(); }

void TestKernel::with_files(const std::function<void(vfs::PathOperations&)>& body) {
  const KernelLock lock(kernel_->mutex());
  vfs::PathOperations paths(kernel_->files(), kernel_->files().root(), vfs::root_credentials());
  body(paths);
}

void TestKernel::write_file(std::string_view path, std::string_view content, std::uint32_t mode) {
  with_files(
      [&](vfs::PathOperations& paths) { EXPECT_TRUE(paths.write_file(path, content, mode)); });
}

void TestKernel::add_program(std::string_view path, std::string_view wat) {
  const std::vector<std::byte> bytes = wasm::from_wat(wat);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0755);
}

ProcessPtr TestKernel::spawn(const SpawnRequest& request) {
  Result<ProcessPtr> process = kernel_->spawn(request);
  if (process) return *process;
  ADD_FAILURE() << request.path << ": " << errno_info(process.error()).name;
  return nullptr;
}

ProcessPtr TestKernel::spawn(const SpawnRequest& request, GuestBody body) {
  const ProcessPtr process = spawn(request);
  if (process) bodies().add(process, std::move(body));
  return process;
}

WaitStatus TestKernel::wait(const ProcessPtr& process) {
  if (!process) return WaitStatus::exited(255);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const std::optional<WaitStatus> status = kernel_->wait_for(process, deadline);
  EXPECT_TRUE(status) << "the guest did not end";
  if (!status) kernel_->kill_job(process->job);
  return status.value_or(WaitStatus::exited(255));
}

}  // namespace cloche::kernel

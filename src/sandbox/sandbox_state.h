// SPDX-License-Identifier: Apache-2.0
// What a Sandbox consists of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cloche/sandbox.h"
#include "kernel/time/kernel_lock.h"
#include "net/network.h"
#include "sandbox/clean_output.h"
#include "sandbox/engine_state.h"
#include "sandbox/host_commands.h"
#include "sandbox/kept_shell.h"
#include "sandbox/python/kept_python.h"
#include "sandbox/run_observer.h"
#include "sandbox/shown_figures.h"
#include "vfs/memfs.h"
#include "vfs/namespace.h"
#include "vfs/path_operations.h"

namespace cloche::sandbox {

inline constexpr std::string_view usual_home = "/workspace";
inline constexpr std::string_view root_home = "/root";

// Of what is read of /etc/passwd and /etc/group.
inline constexpr std::size_t account_file_max_bytes = 64 << 10;

class SandboxState {
 public:
  // A fresh one. Throws Error: options that make no sense, a mount that cannot be made.
  SandboxState(EngineState& engine, SandboxOptions options);
  ~SandboxState();
  SandboxState(const SandboxState&) = delete;
  SandboxState& operator=(const SandboxState&) = delete;

  // See Backend::fork.
  std::unique_ptr<SandboxState> fork(const std::function<void()>& at_files)
      EXCLUDES(kernel::kernel_lock);

  EngineState& engine() noexcept { return engine_; }
  KeptPython& python() noexcept { return *python_; }
  KeptShell& shell() noexcept { return *shell_; }
  kernel::Kernel& kernel() noexcept { return *kernel_; }
  ShownFigures& shown_figures() noexcept { return *shown_figures_; }
  RunObserver& observer() noexcept { return *observer_; }
  const SandboxOptions& options() const noexcept { return options_; }
  // That Python starts from; null: the usual one.
  const std::shared_ptr<python::OwnImage>& image() const noexcept { return image_; }
  // Python packages that are installed, by name.
  std::vector<std::string> packages() EXCLUDES(kernel::kernel_lock);

  // The environment of a command: the usual one, what was set, and `more`, as NAME=value.
  std::vector<std::string> environment(const std::map<std::string, std::string>& more) const;
  std::optional<std::string> environment(const std::string& name) const;
  std::map<std::string, std::string> environment() const;
  void set_environment(const std::string& name, const std::string& value);

  const std::string& home() const noexcept { return options_.home; }
  const vfs::Credentials& credentials(Account account) const noexcept {
    return account == Account::root ? vfs::root_credentials() : user_;
  }

  // Calls `body(PathOperations&)` as that account, starting in its home folder, under the kernel
  // lock.
  template <typename Body>
  auto with_files(Account account, Body&& body) EXCLUDES(kernel::kernel_lock) {
    const kernel::KernelLock lock(kernel_mutex());
    vfs::PathOperations files = path_operations(account);
    return std::forward<Body>(body)(files);
  }
  template <typename Body>
  auto with_files(Body&& body) {
    return with_files(Account::user, std::forward<Body>(body));
  }

  // The files as they are now, but for what is mounted.
  vfs::Frozen freeze_files() EXCLUDES(kernel::kernel_lock);
  // Calls `body(MemFs&)` with them, under the kernel lock.
  template <typename Body>
  auto with_root(Body&& body) EXCLUDES(kernel::kernel_lock) {
    const kernel::KernelLock lock(kernel_mutex());
    return std::forward<Body>(body)(*root_);
  }

  // Output of the sandbox as its owner may see it: without secrets.
  std::string scrub(std::string text) const {
    return secrets_->empty() ? std::move(text) : secrets_->scrub(std::move(text));
  }

  // The same for a stream.
  CleanOutput clean_output(
      net::StreamScrubber::Holding holding = net::StreamScrubber::Holding::all) const {
    if (secrets_->empty()) return {};
    return CleanOutput(std::make_shared<net::StreamScrubber>(secrets_, holding));
  }

  // See Sandbox::install_packages.
  Result<void, Error> install_packages(const std::vector<std::string>& names)
      EXCLUDES(kernel::kernel_lock);

  // See Sandbox.
  void set_network_rules(std::vector<std::string> allow) EXCLUDES(kernel::kernel_lock);
  std::vector<std::string> network_rules() const;
  void set_commands(std::vector<HostCommand> commands);
  void set_owner(std::shared_ptr<Owner> owner) EXCLUDES(kernel::kernel_lock);
  std::vector<HostCommand> commands() const { return commands_->list(); }

  // Runs that begin note the number, and ask at their end. A cancel that is in progress kills what
  // begins meanwhile too.
  std::uint64_t cancellations() const;
  bool cancelled_since(std::uint64_t number) const;
  void cancel();

  SandboxUsage usage() EXCLUDES(kernel::kernel_lock);

 private:
  std::unique_ptr<SandboxState> fork_files() EXCLUDES(kernel::kernel_lock);
  SandboxState(EngineState& engine, SandboxOptions options,
               std::map<std::string, std::string> environment,
               std::unique_ptr<vfs::Namespace> space, vfs::TypedFsRef<vfs::MemFs> root,
               std::shared_ptr<const net::SecretStore> secrets,
               std::shared_ptr<python::OwnImage> image);
  kernel::KernelMutex& kernel_mutex() const;
  // From that account's home folder. Kernel lock held.
  vfs::PathOperations path_operations(Account account) REQUIRES(kernel::kernel_lock);
  void name_user(vfs::Namespace& space) const;
  void make_home();
  void open_image();
  // For processes of the kernel.
  void use_image();
  void start_network() EXCLUDES(kernel::kernel_lock) REQUIRES(network_mutex_);
  NetworkOptions watched(NetworkOptions options) const;
  // What the registry has, and what is left to pip, where the operator gave wheels.
  std::pair<std::vector<std::string>, std::vector<std::string>> split_packages(
      const std::vector<std::string>& wishes) const;
  Result<void, Error> install_wheels(const std::vector<std::string>& wishes);
  std::unique_ptr<kernel::Kernel> make_kernel(std::unique_ptr<vfs::Namespace> space) const;
  void mount_host_paths(vfs::Namespace& space) const;

  EngineState& engine_;
  SandboxOptions options_;
  vfs::Credentials user_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> environment_ GUARDED_BY(mutex_);
  std::vector<std::string> network_rules_ GUARDED_BY(mutex_);
  std::uint64_t cancellations_ GUARDED_BY(mutex_) = 0;
  int cancels_in_progress_ GUARDED_BY(mutex_) = 0;

  vfs::TypedFsRef<vfs::MemFs> root_;                 // under the kernel lock
  std::shared_ptr<const net::SecretStore> secrets_;  // the same in forks
  std::shared_ptr<python::OwnImage> image_;          // the same in forks
  const std::shared_ptr<RunObserver> observer_ = std::make_shared<RunObserver>();
  const std::unique_ptr<ShownFigures> shown_figures_ = std::make_unique<ShownFigures>();
  const std::unique_ptr<HostCommands> commands_;
  std::unique_ptr<kernel::Kernel> kernel_;
  Mutex network_mutex_;                                               // one change at a time
  std::shared_ptr<net::Network> network_ GUARDED_BY(network_mutex_);  // null: there is none
  std::unique_ptr<KeptPython> python_;
  std::unique_ptr<KeptShell> shell_;
};

}  // namespace cloche::sandbox

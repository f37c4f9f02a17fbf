// SPDX-License-Identifier: Apache-2.0
// The backend whose programs are native processes: a box, made of a system image.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "kernel/time/timer_thread.h"
#include "native/host/box.h"
#include "native/host/large_file.h"
#include "native/host/mount_set.h"
#include "native/images/image_store.h"
#include "net/guest_authority.h"
#include "net/secrets.h"
#include "sandbox/backend.h"
#include "sandbox/clean_output.h"
#include "sandbox/native/early_starts.h"
#include "sandbox/native/native_command.h"
#include "sandbox/native/native_commands.h"
#include "sandbox/native/native_files.h"
#include "sandbox/native/native_network.h"
#include "sandbox/native/native_python.h"
#include "sandbox/native/native_shell.h"
#include "sandbox/run_observer.h"

namespace cloche::sandbox {

class FreezePrograms;
class NativeParts;
class PythonPrograms;
class PythonStarts;
enum class PythonStart : std::uint8_t;

// The one user inside.
struct Identity {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

class NativeBackend final : public Backend {
 public:
  // Throws Error with one sentence: what this engine lacks, a system image that is not there, a
  // machine that cannot.
  NativeBackend(NativeParts& parts, SandboxOptions options);
  ~NativeBackend() override;
  NativeBackend(const NativeBackend&) = delete;
  NativeBackend& operator=(const NativeBackend&) = delete;

  RunResult run(const RunOptions& options) override;
  std::unique_ptr<LiveRunState> start(LiveRunOptions options) override;
  Result<std::unique_ptr<LoopbackStream>> connect(std::uint16_t port,
                                                  std::function<void()> changed) override;
  RunResult run_python(std::string_view source, const PythonOptions& options) override;
  std::unique_ptr<SessionInterpreter> make_interpreter(const std::filesystem::path& image) override;
  void cancel() override;
  void freeze() override;
  void thaw() override;
  void restart_shell() override { shell_.restart(); }
  void set_network_rules(std::vector<std::string> allow) override;
  std::vector<std::string> network_rules() const override;
  void set_owner(std::shared_ptr<Owner> owner) override;
  void set_commands(std::vector<HostCommand> commands) override;
  std::vector<HostCommand> commands() const override { return commands_->list(); }
  // One user is inside, so that the accounts differ in where they are at home.
  FileBackend& files(Account account) noexcept override {
    return account == Account::root ? *root_files_ : *files_;
  }
  void set_environment(const std::string& name, const std::string& value) override;
  std::map<std::string, std::string> environment() const override;
  Result<void, Error> install_packages(const std::vector<std::string>& names) override;
  std::unique_ptr<Backend> fork(const std::function<void()>& at_files) override;
  std::unique_ptr<SavedBox> save() override;
  Result<void, Error> load(const SavedBox& saved) override;
  Result<void, Error> commit_image(const std::string& name) override;
  std::string why_ended() const override { return box_->why_ended(); }
  SandboxUsage usage() override;
  std::vector<ProcessInfo> processes() override;
  Result<void> signal(int pid, int number) override { return box_->signal(pid, number); }
  RunObserver& observer() noexcept override { return observer_; }
  std::string scrub(std::string text) const override;
  const SandboxOptions& options() const noexcept override { return options_; }
  SandboxState& wasm() override;

  // For what is below.
  native::Box& box() noexcept { return *box_; }
  const FreezePrograms& freeze_programs() const noexcept;
  const PythonPrograms& python_programs() const noexcept;
  PythonStarts& python_starts() noexcept;
  const images::Image& image() const noexcept { return *image_; }
  // That of scripts: bash, or sh where the image has none and none was added since.
  std::string script_shell() const;
  const Identity& identity() const noexcept { return who_; }
  // Of a sandbox that was made for that; null: it cannot be.
  SharedFile freeze_new_python(PythonStart what);
  EarlyStarts& early_starts() noexcept { return early_starts_; }
  // Once for each: it is asked for this.
  void tell_use(FirstUse use);
  // Its box has not ended, and the image is still what its name means.
  bool is_as_new();
  kernel::TimerThread& timers() noexcept;
  Result<native::LargeFile> make_large_file();
  // A stream of what is written inside, as its owner may see it: without secrets.
  CleanOutput clean_output(
      net::StreamScrubber::Holding holding = net::StreamScrubber::Holding::all) const;
  // Between freeze() and thaw().
  bool is_paused() const;
  // A command with descriptors 3 and 4 for the engine itself, where `side_input` is given.
  RunResult run_command(const RunOptions& options, std::optional<std::string> side_input,
                        std::optional<std::string>* side_output);
  NativeCommand::Plan plan_of(const RunOptions& options) const;
  // Waits for it. `cancellations`: how many there had been before it began.
  RunResult result_of(NativeCommand& command, const RunOptions& options,
                      std::uint64_t cancellations) const;
  native::CommandSpec spec_of(const RunOptions& options) const;
  // Where its `cwd` leads: a relative one below the account's home.
  std::string folder_of(const RunOptions& options) const;
  // An errno where the account may not be had; 0: it may.
  int refusal_of(Account account) const noexcept;
  std::uint64_t cancellations() const;
  bool cancelled_since(std::uint64_t number) const;

 private:
  NativeBackend(NativeParts& parts, NativeBackend& parent);
  std::vector<native::HostMount> mounts() const;
  std::unique_ptr<native::Box> make_box(int begin_with);
  [[noreturn]] void refuse(Errno error, const char* what) const;
  void copy_files_of(NativeBackend& parent);
  void begin();
  // That programs trust in the authority, where there are secrets.
  void add_trust() EXCLUDES(mutex_);
  // Of its options.
  void bring_packages();
  // The environment without what secrets have brought.
  std::map<std::string, std::string> lasting_environment() const EXCLUDES(mutex_);
  std::map<std::string, std::string> own_variables() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return own_variables_;
  }
  // Whose decisions the observer hears of too.
  NetworkOptions watched(NetworkOptions options);
  void start_network(const NetworkOptions& options) REQUIRES(network_mutex_);
  std::shared_ptr<Owner> owner() const EXCLUDES(network_mutex_);

  NativeParts& parts_;
  SandboxOptions options_;
  std::shared_ptr<const images::Image> image_;
  bool has_bash_ = true;  // the image
  std::string home_;
  Identity who_;
  std::shared_ptr<const net::SecretStore> secrets_;       // the same in forks
  std::shared_ptr<const net::GuestAuthority> authority_;  // the same in forks; null: no secrets
  mutable Mutex mutex_;
  std::map<std::string, std::string> environment_ GUARDED_BY(mutex_);
  // Those that secrets have brought, which mean nothing elsewhere.
  std::map<std::string, std::string> own_variables_ GUARDED_BY(mutex_);
  std::vector<std::string> network_rules_ GUARDED_BY(mutex_);
  std::uint64_t cancellations_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<native::Box::Pause> pause_ GUARDED_BY(mutex_);  // while frozen

  RunObserver observer_;
  std::unique_ptr<native::Box> box_;
  mutable Mutex network_mutex_;                                        // one change at a time
  std::unique_ptr<NativeNetwork> network_ GUARDED_BY(network_mutex_);  // null: there is none
  std::shared_ptr<Owner> owner_ GUARDED_BY(network_mutex_);            // null: nobody
  std::unique_ptr<NativeCommands> commands_;
  std::unique_ptr<NativeFiles> files_;
  std::unique_ptr<NativeFiles> root_files_;
  NativeShell shell_;
  NativePython python_;
  EarlyStarts early_starts_;
  const bool is_fork_;
  Mutex uses_mutex_;
  FirstUses uses_ GUARDED_BY(uses_mutex_);
};

std::unique_ptr<Backend> make_native_backend(NativeParts& parts, const SandboxOptions& options);

}  // namespace cloche::sandbox

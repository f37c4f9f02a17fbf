// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm_backend.h"

#include <utility>

#include "kernel/host/host_connection.h"
#include "kernel/kernel.h"
#include "sandbox/live_run.h"
#include "sandbox/processes.h"
#include "sandbox/python/wasm_interpreter.h"
#include "sandbox/run.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/wasm_files.h"

namespace cloche::sandbox {
namespace {

class WasmLoopback final : public LoopbackStream {
 public:
  explicit WasmLoopback(std::unique_ptr<kernel::HostConnection> connection)
      : connection_(std::move(connection)) {}

  Result<std::size_t> write(std::string_view bytes) override {
    return connection_->write(std::as_bytes(std::span(bytes)));
  }
  Result<std::size_t> read(std::span<char> to) override {
    return connection_->read(std::as_writable_bytes(to));
  }
  void close_input() override { connection_->shut_down_write(); }

 private:
  std::unique_ptr<kernel::HostConnection> connection_;
};

class WasmBackend final : public Backend {
 public:
  explicit WasmBackend(std::unique_ptr<SandboxState> state)
      : state_(std::move(state)),
        files_(*state_, Account::user),
        root_files_(*state_, Account::root) {}

  RunResult run(const RunOptions& options) override { return sandbox::run(*state_, options); }
  std::unique_ptr<LiveRunState> start(LiveRunOptions options) override {
    return std::make_unique<WasmLiveRun>(*state_, std::move(options));
  }
  Result<std::unique_ptr<LoopbackStream>> connect(std::uint16_t port,
                                                  std::function<void()> changed) override {
    CLOCHE_ASSIGN(auto connection,
                  kernel::HostConnection::connect(state_->kernel(), port, std::move(changed)));
    return std::make_unique<WasmLoopback>(std::move(connection));
  }
  RunResult run_python(std::string_view source, const PythonOptions& options) override {
    return state_->python().run(source, options);
  }
  std::unique_ptr<SessionInterpreter> make_interpreter(
      const std::filesystem::path& image) override {
    return std::make_unique<WasmInterpreter>(*state_, image);
  }
  void cancel() override { state_->cancel(); }
  void freeze() override { state_->kernel().stop_all(); }
  void thaw() override { state_->kernel().continue_all(); }
  void restart_shell() override { state_->shell().restart(); }
  void set_network_rules(std::vector<std::string> allow) override {
    state_->set_network_rules(std::move(allow));
  }
  std::vector<std::string> network_rules() const override { return state_->network_rules(); }
  void set_commands(std::vector<HostCommand> commands) override {
    state_->set_commands(std::move(commands));
  }
  std::vector<HostCommand> commands() const override { return state_->commands(); }
  void set_owner(std::shared_ptr<Owner> owner) override { state_->set_owner(std::move(owner)); }
  FileBackend& files(Account account) noexcept override {
    return account == Account::root ? root_files_ : files_;
  }
  void set_environment(const std::string& name, const std::string& value) override {
    state_->set_environment(name, value);
  }
  std::map<std::string, std::string> environment() const override {
    return std::as_const(*state_).environment();
  }
  Result<void, Error> install_packages(const std::vector<std::string>& names) override {
    return state_->install_packages(names);
  }
  std::unique_ptr<Backend> fork(const std::function<void()>& at_files) override {
    return make_wasm_backend(state_->fork(at_files));
  }
  std::unique_ptr<SavedBox> save() override { return nullptr; }
  Result<void, Error> load(const SavedBox&) override {
    return request_error("a wasm sandbox takes no state of the linux engine", Errno::notsup);
  }
  Result<void, Error> commit_image(const std::string&) override {
    return request_error("a wasm sandbox has no system image: the linux engine's have one",
                         Errno::notsup);
  }
  SandboxUsage usage() override { return state_->usage(); }
  std::vector<ProcessInfo> processes() override { return processes_of(*state_); }
  Result<void> signal(int pid, int number) override { return signal_process(*state_, pid, number); }
  RunObserver& observer() noexcept override { return state_->observer(); }
  std::string scrub(std::string text) const override { return state_->scrub(std::move(text)); }
  const SandboxOptions& options() const noexcept override { return state_->options(); }
  SandboxState& wasm() override { return *state_; }

 private:
  std::unique_ptr<SandboxState> state_;
  WasmFiles files_;
  WasmFiles root_files_;
};

}  // namespace

std::unique_ptr<Backend> make_wasm_backend(std::unique_ptr<SandboxState> state) {
  return std::make_unique<WasmBackend>(std::move(state));
}

}  // namespace cloche::sandbox

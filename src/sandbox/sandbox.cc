// SPDX-License-Identifier: Apache-2.0
#include "cloche/sandbox.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/host_error.h"
#include "cloche/engine.h"
#include "sandbox/backend.h"
#include "sandbox/departure.h"
#include "sandbox/engine_state.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/run_observer.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/wasm_backend.h"

namespace cloche {

namespace {

// What the standard library says of the host, as the one Error.
template <typename Make>
auto with_errors_of_the_host(Make&& make) {
  try {
    return std::forward<Make>(make)();
  } catch (const std::filesystem::filesystem_error& problem) {
    throw HostError(problem.path1().string() + ": " + problem.code().message(),
                    errno_from_host(problem.code().value()));
  } catch (const std::system_error& problem) {
    throw HostError(problem.what(), errno_from_host(problem.code().value()));
  }
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : state_(with_errors_of_the_host(
          [&] { return std::make_unique<sandbox::EngineState>(options); })) {}
Engine::~Engine() = default;

std::unique_ptr<Sandbox> Engine::create(const SandboxOptions& options) {
  if (options.engine == EngineKind::wasm && options.isolation != Isolation::full)
    throw request_error(
        "the wasm engine has one isolation, a kernel of its own: leave isolation "
        "out, or choose the linux engine",
        Errno::inval);
  return with_errors_of_the_host([&] {
    state_->need_harmless(options);
    return std::unique_ptr<Sandbox>(
        new Sandbox(options.engine == EngineKind::native_linux
                        ? sandbox::make_native_backend(state_->natives(), options)
                        : sandbox::make_wasm_backend(
                              std::make_unique<sandbox::SandboxState>(*state_, options))));
  });
}

void Engine::prepare() { state_->prepare(); }
void Engine::ship(const EngineOptions& options, const std::filesystem::path& folder) {
  with_errors_of_the_host([&] { sandbox::ship_code(options, folder); });
}

Sandbox::Sandbox(std::unique_ptr<sandbox::Backend> backend)
    : backend_(std::move(backend)),
      departure_(std::make_shared<sandbox::Departure>()),
      files_(backend_->files(Account::user), departure_),
      root_files_(backend_->files(Account::root), departure_) {}
Sandbox::~Sandbox() = default;

namespace {

// What was asked for, in words.
std::string text_of(const RunOptions& options) {
  if (options.argv.empty()) return options.script.empty() ? "bash" : options.script;
  std::string text;
  for (const std::string& word : options.argv) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

// One that ends when either says so.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : first_(one, Pass{stop_}), second_(other, Pass{stop_}) {}
  std::stop_token token() const { return stop_.get_token(); }

 private:
  struct Pass {
    std::stop_source& to;
    void operator()() const { to.request_stop(); }
  };
  std::stop_source stop_;
  std::stop_callback<Pass> first_, second_;
};

// A fork waits for the runs of the kept shell, so its departure ends them; others end with the
// sandbox, also those that begin when it has ended.
RunResult run_settled(sandbox::Backend& backend, sandbox::Departure& departure,
                      const RunOptions& options) {
  const bool is_waited_for = options.shell == ShellState::kept && options.argv.empty();
  const EitherStop stop(options.stop, is_waited_for ? departure.begins() : departure.leaves());
  RunOptions stopped = options;
  stopped.stop = stop.token();
  return departure.settled(backend.run(stopped));
}

void must_count(sandbox::Departure& departure) {
  if (!departure.counts()) throw Error(Errno::canceled);
}

}  // namespace

RunResult Sandbox::run(const RunOptions& options) {
  sandbox::RunObserver& observer = backend_->observer();
  if (!observer.is_watched()) return run_settled(*backend_, *departure_, options);
  const auto told = observer.begin(RunEvent::Kind::command, backend_->scrub(text_of(options)));
  RunResult result = run_settled(*backend_, *departure_, options);
  told.end(result.exit_code, result.reason, result.duration);
  return result;
}

std::unique_ptr<LiveRun> Sandbox::start(LiveRunOptions options) {
  if (sandbox::RunObserver& observer = backend_->observer(); observer.is_watched()) {
    const RunEvent::Kind kind =
        options.terminal ? RunEvent::Kind::terminal : RunEvent::Kind::command;
    options.on_end = [told = observer.begin(kind, backend_->scrub(text_of(options.command))),
                      given = std::move(options.on_end)](const RunResult& result) {
      told.end(result.exit_code, result.reason, result.duration);
      if (given) given(result);
    };
  }
  const auto is_lost = std::make_shared<std::atomic<bool>>(false);
  options.on_end = [is_lost, departure = departure_,
                    given = std::move(options.on_end)](const RunResult& result) {
    *is_lost = result.status == RunStatus::exited && !departure->counts();
    if (given) given(*is_lost ? sandbox::cancelled_run(result) : result);
  };
  std::unique_ptr<LiveRun> run(new LiveRun(backend_->start(std::move(options)), is_lost));
  // What leaves after this look finds the run, and ends it.
  if (departure_->leaves().stop_requested()) run->kill();
  return run;
}

RunResult Sandbox::run_python(std::string_view source, const PythonOptions& options) {
  const auto told =
      backend_->observer().begin(RunEvent::Kind::python, backend_->scrub(std::string(source)));
  const EitherStop stop(options.stop, departure_->begins());
  PythonOptions stopped = options;
  stopped.stop = stop.token();
  RunResult result = departure_->settled(backend_->run_python(source, stopped));
  told.end(result.exit_code, result.reason, result.duration);
  return result;
}

void Sandbox::cancel() { backend_->cancel(); }
void Sandbox::freeze() { backend_->freeze(); }
void Sandbox::thaw() { backend_->thaw(); }
void Sandbox::begin_to_leave() { departure_->begin(); }
void Sandbox::stay() { departure_->stay(); }
void Sandbox::leave() {
  departure_->leave();
  backend_->cancel();
}
void Sandbox::restart_shell() { backend_->restart_shell(); }
void Sandbox::set_network_rules(std::vector<std::string> allow) {
  backend_->set_network_rules(std::move(allow));
  must_count(*departure_);
}
std::vector<std::string> Sandbox::network_rules() const { return backend_->network_rules(); }
void Sandbox::set_commands(std::vector<HostCommand> commands) {
  backend_->set_commands(std::move(commands));
  must_count(*departure_);
}
void Sandbox::set_owner(const std::string& name) { backend_->set_owner(Owner::named(name)); }
std::vector<HostCommand> Sandbox::commands() const { return backend_->commands(); }
Files& Sandbox::files() noexcept { return files_; }
Files& Sandbox::files(Account account) noexcept {
  return account == Account::root ? root_files_ : files_;
}

void Sandbox::set_environment(const std::string& name, const std::string& value) {
  backend_->set_environment(name, value);
  must_count(*departure_);
}

std::optional<std::string> Sandbox::environment(const std::string& name) const {
  const std::map<std::string, std::string> all = backend_->environment();
  const auto it = all.find(name);
  return it == all.end() ? std::nullopt : std::optional(it->second);
}

std::map<std::string, std::string> Sandbox::environment() const { return backend_->environment(); }

Result<void, Error> Sandbox::install_packages(const std::vector<std::string>& names) {
  return departure_->settled(backend_->install_packages(names));
}

std::unique_ptr<Sandbox> Sandbox::fork() {
  return with_errors_of_the_host([&] {
    return std::unique_ptr<Sandbox>(new Sandbox(backend_->fork([&] { departure_->at_files(); })));
  });
}

Result<void, Error> Sandbox::commit_image(const std::string& name) {
  return backend_->commit_image(name);
}

std::string Sandbox::why_ended() const { return backend_->why_ended(); }
SandboxUsage Sandbox::usage() const { return backend_->usage(); }
std::vector<ProcessInfo> Sandbox::processes() const { return backend_->processes(); }
Result<void> Sandbox::signal(int pid, int number) { return backend_->signal(pid, number); }
void Sandbox::observe(SandboxObserver observer) { backend_->observer().set(std::move(observer)); }
const SandboxOptions& Sandbox::options() const noexcept { return backend_->options(); }

}  // namespace cloche

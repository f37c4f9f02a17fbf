// SPDX-License-Identifier: Apache-2.0
#include "cloche/sandbox.h"

#include <system_error>
#include <utility>

#include "base/host_error.h"
#include "cloche/engine.h"
#include "sandbox/engine_state.h"
#include "sandbox/live_run.h"
#include "sandbox/run.h"
#include "sandbox/sandbox_state.h"

namespace cloche {

namespace {

// What the standard library says of the host, as the one Error.
template <typename Make>
auto with_errors_of_the_host(Make&& make) {
  try {
    return std::forward<Make>(make)();
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
  return with_errors_of_the_host([&] {
    return std::unique_ptr<Sandbox>(
        new Sandbox(std::make_unique<sandbox::SandboxState>(*state_, options)));
  });
}

void Engine::prepare() { state_->prepare(); }
void Engine::ship(const EngineOptions& options, const std::filesystem::path& folder) {
  with_errors_of_the_host([&] { sandbox::ship_code(options, folder); });
}

Sandbox::Sandbox(std::unique_ptr<sandbox::SandboxState> state)
    : state_(std::move(state)), files_(*state_) {}
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

}  // namespace

RunResult Sandbox::run(const RunOptions& options) {
  sandbox::RunObserver& observer = state_->observer();
  if (!observer.is_watched()) return sandbox::run(*state_, options);
  const auto told = observer.begin(RunEvent::Kind::command, state_->scrub(text_of(options)));
  RunResult result = sandbox::run(*state_, options);
  told.end(result.exit_code, result.reason, result.duration);
  return result;
}

std::unique_ptr<LiveRun> Sandbox::start(LiveRunOptions options) {
  if (sandbox::RunObserver& observer = state_->observer(); observer.is_watched()) {
    const RunEvent::Kind kind =
        options.terminal ? RunEvent::Kind::terminal : RunEvent::Kind::command;
    options.on_end = [told = observer.begin(kind, state_->scrub(text_of(options.command))),
                      given = std::move(options.on_end)](const RunResult& result) {
      told.end(result.exit_code, result.reason, result.duration);
      if (given) given(result);
    };
  }
  return std::unique_ptr<LiveRun>(
      new LiveRun(std::make_unique<sandbox::LiveRunState>(*state_, std::move(options))));
}

RunResult Sandbox::run_python(std::string_view source, const PythonOptions& options) {
  const auto told =
      state_->observer().begin(RunEvent::Kind::python, state_->scrub(std::string(source)));
  RunResult result = state_->python().run(source, options);
  told.end(result.exit_code, result.reason, result.duration);
  return result;
}

void Sandbox::cancel() { state_->cancel(); }
void Sandbox::restart_shell() { state_->shell().restart(); }
void Sandbox::set_network_rules(std::vector<std::string> allow) {
  state_->set_network_rules(std::move(allow));
}
std::vector<std::string> Sandbox::network_rules() const { return state_->network_rules(); }
Files& Sandbox::files() noexcept { return files_; }

void Sandbox::set_environment(const std::string& name, const std::string& value) {
  state_->set_environment(name, value);
}

std::optional<std::string> Sandbox::environment(const std::string& name) const {
  return std::as_const(*state_).environment(name);
}

std::map<std::string, std::string> Sandbox::environment() const {
  return std::as_const(*state_).environment();
}

Result<void, Error> Sandbox::install_packages(const std::vector<std::string>& names) {
  return state_->install_packages(names);
}

std::unique_ptr<Sandbox> Sandbox::fork() {
  return std::unique_ptr<Sandbox>(new Sandbox(state_->fork()));
}

SandboxUsage Sandbox::usage() const { return state_->usage(); }
const SandboxOptions& Sandbox::options() const noexcept { return state_->options(); }

}  // namespace cloche

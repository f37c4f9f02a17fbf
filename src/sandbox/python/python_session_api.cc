// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cloche/python_session.h"
#include "sandbox/backend.h"
#include "sandbox/departure.h"
#include "sandbox/python/python_session_state.h"
#include "sandbox/run_observer.h"

namespace cloche {
namespace {

int exit_status_of(const ExecuteResult& result) {
  if (result.status == ExecuteStatus::ok) return 0;
  const bool has_code =
      result.status == ExecuteStatus::exited || result.status == ExecuteStatus::ended;
  return has_code ? result.exit_code : 1;
}

std::unique_ptr<sandbox::PythonSessionState> make_state(std::unique_ptr<Sandbox> own,
                                                        Sandbox& place, sandbox::Backend& backend,
                                                        const PythonSessionOptions& options) {
  return std::make_unique<sandbox::PythonSessionState>(
      std::move(own), place, backend, backend.make_interpreter(options.image), options);
}

}  // namespace

PythonSession::PythonSession(Engine& engine, const SandboxOptions& sandbox,
                             PythonSessionOptions options) {
  std::unique_ptr<Sandbox> own = engine.create(sandbox);
  Sandbox& place = *own;
  state_ = make_state(std::move(own), place, *place.backend_, options);
}

PythonSession::PythonSession(Sandbox& sandbox, PythonSessionOptions options)
    : state_(make_state(nullptr, sandbox, *sandbox.backend_, options)) {}

PythonSession::PythonSession(std::unique_ptr<sandbox::PythonSessionState> state)
    : state_(std::move(state)) {}

PythonSession::~PythonSession() = default;

ExecuteResult PythonSession::execute(std::string_view code, const ExecuteOptions& options) {
  sandbox::Backend& sandbox = *state_->sandbox().backend_;
  const auto told =
      sandbox.observer().begin(RunEvent::Kind::python, sandbox.scrub(std::string(code)));
  sandbox::Departure& departure = *state_->sandbox().departure_;
  ExecuteResult result;  // that of one that has left is settled as cancelled
  if (!departure.leaves().stop_requested()) result = state_->execute(code, options);
  result = departure.settled(std::move(result));
  told.end(exit_status_of(result), result.reason, result.duration);
  return result;
}

void PythonSession::cancel() { state_->cancel(); }

void PythonSession::add_callback(Callback callback) {
  state_->callbacks().add(std::move(callback));
}

bool PythonSession::remove_callback(std::string_view name) {
  return state_->callbacks().remove(name);
}

std::unique_ptr<PythonSession> PythonSession::fork() {
  return std::unique_ptr<PythonSession>(new PythonSession(state_->fork([this] {
    std::unique_ptr<Sandbox> twin = state_->sandbox().fork();
    sandbox::Backend& backend = *twin->backend_;
    return sandbox::PythonSessionState::SandboxFork{std::move(twin), backend};
  })));
}

Result<PythonState, Error> PythonSession::snapshot_state(const SnapshotOptions& options) {
  return state_->snapshot(options);
}

Result<void, Error> PythonSession::restore_state(std::string_view bytes) {
  return state_->sandbox().departure_->settled(state_->restore(bytes));
}

Result<void, Error> PythonSession::clear_state() {
  return state_->sandbox().departure_->settled(state_->clear());
}

void PythonSession::checkpoint(const std::filesystem::path& file, CheckpointFile kind,
                               const CheckpointLimits& limits) {
  state_->save_image(file, kind, limits);
}

void PythonSession::restore(const std::filesystem::path& file) { state_->load_image(file); }

std::uint64_t PythonSession::version() const noexcept { return state_->version(); }

Sandbox& PythonSession::sandbox() noexcept { return state_->sandbox(); }

}  // namespace cloche

// SPDX-License-Identifier: Apache-2.0
// Sessions that survive the server.
#include "cloche/archive.h"
#include "session/session_manager.h"

namespace cloche::session {
namespace {

constexpr std::uint64_t overhead_bytes = 64ULL << 20;  // of archives, over what the files take

}  // namespace

void SessionManager::save(const std::shared_ptr<Session>& session) {
  look_at_memory();
  if (!store_) return;
  // Whoever waits here while another save runs may find its change saved already by the next one.
  const std::uint64_t change = ++session->changes_;
  const std::lock_guard lock(session->save_mutex_);
  const std::shared_ptr<Sandbox> sandbox = session->sandbox();
  if (session->saved_ >= change || !sandbox) return;
  const std::uint64_t changes = session->changes_;
  std::string message;
  const Result<std::string> state =
      export_state(*sandbox, options_.sandbox.file_limit_bytes + overhead_bytes, &message);
  const Status status = session->status();
  if (status == Status::closed) return;
  if (!state || !store_->save(session->facts(), status, *state)) {
    complain("cannot save session " + session->facts().id + ": " +
             (state ? "the state folder cannot be written" : message));
    return;
  }
  session->saved_ = changes;
}

void SessionManager::forget(Session& session) {
  if (!store_) return;
  const std::lock_guard lock(session.save_mutex_);
  store_->remove(session.facts().id);
}

void SessionManager::restore_all() {
  const auto restore = [this](StateStore::Stored stored) {
    const auto left = stored.facts.expires - std::chrono::system_clock::now();
    if (stored.facts.expires != WallTime::max() && left.count() <= 0)
      return store_->remove(stored.facts.id);
    std::string message;
    std::unique_ptr<Sandbox> sandbox;
    if (stored.state.empty()) {
      sandbox = engine_.create(options_.sandbox);
    } else {
      Result<std::unique_ptr<Sandbox>> made =
          import_state(engine_, options_.sandbox, stored.state, &message);
      if (!made) return complain("cannot restore session " + stored.facts.id + ": " + message);
      sandbox = *std::move(made);
    }
    const SteadyTime deadline =
        stored.facts.expires == WallTime::max()
            ? SteadyTime::max()
            : std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::nanoseconds>(left);
    const bool paused = stored.status == Status::paused;
    stored.facts.sequence = ++last_sequence_;
    const auto session =
        std::make_shared<Session>(std::move(stored.facts), std::move(sandbox), deadline);
    if (paused) (void)session->pause([] {});
    {
      const std::lock_guard lock(mutex_);
      add(session);
    }
    tell(Event::restored, *session);
  };
  store_->load(restore, [this](const std::string& name) {
    complain(name + " in the state folder is damaged: it is kept as " + name + ".damaged");
  });
}

}  // namespace cloche::session

// SPDX-License-Identifier: Apache-2.0
// Sessions that survive the server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/session_manager.h"

namespace cloche::session {

Result<void> SessionManager::save(const std::shared_ptr<Session>& session) {
  look_at_memory();
  const bool is_saved = saver_ && session->facts().lifetime == Lifetime::of_use;
  return is_saved ? saver_->save(session) : Result<void>();
}

Result<void> SessionManager::save_now(const std::shared_ptr<Session>& session) {
  look_at_memory();
  const bool is_saved = saver_ && session->facts().lifetime == Lifetime::of_use;
  return is_saved ? saver_->save_now(session) : Result<void>();
}

Result<void> SessionManager::forget(Session& session, StateStore::Removal what) {
  const bool is_saved = saver_ && session.facts().lifetime == Lifetime::of_use;
  return is_saved ? saver_->forget(session, what) : Result<void>();
}

std::string SessionManager::save_trouble() const { return saver_ ? saver_->trouble() : ""; }
std::size_t SessionManager::unsaved() const { return saver_ ? saver_->unsaved() : 0; }

bool SessionManager::is_unreadable(std::string_view id) const {
  return unread_.contains(std::string(id));
}

void SessionManager::find_saved() {
  StateStore::Listing listing = saver_->store().list();
  for (const std::string& sentence : listing.trouble) complain(sentence);
  unread_.insert(listing.unread.begin(), listing.unread.end());
  for (StateStore::Found& found : listing.sessions) {
    const Moment now = clock_.now();
    const auto left = found.facts.expires - now.wall;
    const bool for_ever = found.facts.expires == WallTime::max();
    if (!for_ever && left.count() <= 0) {
      if (!saver_->store().remove(found.facts.id, StateStore::Removal::saved))
        complain("the saved state of session " + found.facts.id + " cannot be removed");
      continue;
    }
    const SteadyTime deadline =
        for_ever ? SteadyTime::max()
                 : now.steady + std::chrono::duration_cast<std::chrono::nanoseconds>(left);
    {
      const MutexLock lock(mutex_);
      found.facts.sequence = ++last_sequence_;
    }
    const auto session = std::make_shared<Session>(
        std::move(found), [this](Session& one) { return load(one); }, deadline, clock_);
    log_what_happens_in(*session);
    const MutexLock lock(mutex_);
    add(session);
  }
}

// A saved session gets what the operator allows now, and no more.
SandboxOptions SessionManager::options_of_saved(const Facts& facts) const {
  if (facts.wish.empty()) return options_.sandbox;
  const auto wish = read_json<Json>(facts.wish, {});
  try {
    if (const Json* read = std::get_if<Json>(&wish))
      return options_for(*read, sandbox::Beyond::cut);
  } catch (const std::exception& problem) {
    complain(
        fmt::format("what session {} was to have cannot be read: {}", facts.id, problem.what()));
  }
  return options_.sandbox;
}

std::variant<std::unique_ptr<Sandbox>, Session::LoadProblem> SessionManager::load(
    Session& session) {
  const std::string& id = session.facts().id;
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = [&] {
    const MutexLock lock(session.save_mutex_);
    return saver_->store().load(session.chain_, id, engine_, options_of_saved(session.facts()));
  }();
  if (auto* problem = std::get_if<StateStore::Problem>(&loaded)) {
    if (problem->damaged) {
      saver_->store().set_aside(id);
      complain(
          fmt::format("the saved state of session {0} is damaged ({1}): its files are kept as "
                      "{0}.*.damaged",
                      id, problem->sentence));
      return Session::LoadProblem{true, "the saved state of this session is damaged"};
    }
    complain(fmt::format("session {} cannot be restored: {}", id, problem->sentence));
    return Session::LoadProblem{
        false, "the saved state of this session cannot be read: " + problem->sentence};
  }
  auto& good = std::get<StateStore::Loaded>(loaded);
  if (!good.missing_packages.empty()) {
    complain(fmt::format("session {} is restored without the packages that this system has not: {}",
                         id, fmt::join(good.missing_packages, ", ")));
  }
  if (options_.timed) options_.timed(Timed::restoration, std::chrono::steady_clock::now() - begin);
  tell(Event::restored, session);
  return std::move(good.sandbox);
}

}  // namespace cloche::session

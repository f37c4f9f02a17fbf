// SPDX-License-Identifier: Apache-2.0
// Sessions that survive the server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/session_manager.h"

namespace cloche::session {

Result<void> SessionManager::save(const std::shared_ptr<Session>& session) {
  look_at_memory();
  const Result<SaverPtr> saver = saver_of(session->facts());
  // What ran in a session that has gone to another server has ended before that was saved.
  if (!saver) return session->has_left() ? Result<void>() : saver.error();
  return *saver ? (*saver)->save(session) : Result<void>();
}

void SessionManager::save_soon(const std::shared_ptr<Session>& session) {
  const Result<SaverPtr> saver = saver_of(session->facts());
  if (saver && *saver) (*saver)->save_soon(session);
}

Result<void> SessionManager::save_now(const std::shared_ptr<Session>& session) {
  look_at_memory();
  CLOCHE_ASSIGN(const SaverPtr saver, saver_of(session->facts()));
  return saver ? saver->save_now(session) : Result<void>();
}

Result<void> SessionManager::forget(Session& session, StateStore::Removal what) {
  CLOCHE_ASSIGN(const SaverPtr saver, saver_of(session.facts()));
  return saver ? saver->forget(session, what) : Result<void>();
}

SessionManager::SaverPtr SessionManager::make_saver(CellKey key) const {
  return std::make_shared<SessionSaver>(SaverOptions{
      state_folder_of(options_, key), options_.cell, options_.save_policy, options_.save_interval,
      options_.state_files, &clock_, options_.trouble, options_.saved, options_.live_python});
}

// A session whose id has no key, since its server had none then, goes with the server's own.
CellKey SessionManager::key_of(std::string_view id) const {
  const std::optional<CellKey> key = options_.cell == 0 ? std::nullopt : cell_of(id);
  return key.value_or(options_.cell);
}

Result<SessionManager::SaverPtr> SessionManager::saver_of(const Facts& facts) const {
  if (facts.lifetime != Lifetime::of_use) return SaverPtr();
  const CellKey key = key_of(facts.id);
  const MutexLock lock(mutex_);
  if (const auto it = savers_.find(key); it != savers_.end()) return it->second;
  if (const auto it = leaving_.find(key); it != leaving_.end()) return it->second;
  return Errno::stale;
}

std::vector<SessionManager::SaverPtr> SessionManager::all_savers() const {
  std::vector<SaverPtr> all;
  const MutexLock lock(mutex_);
  for (const auto& [key, saver] : savers_) {
    if (saver) all.push_back(saver);
  }
  return all;
}

std::string SessionManager::save_trouble() const {
  for (const SaverPtr& saver : all_savers()) {
    if (std::string trouble = saver->trouble(); !trouble.empty()) return trouble;
  }
  return {};
}

std::size_t SessionManager::unsaved() const {
  std::size_t sum = 0;
  for (const SaverPtr& saver : all_savers()) sum += saver->unsaved();
  return sum;
}

bool SessionManager::is_unreadable(std::string_view id) const {
  const MutexLock lock(mutex_);
  return unread_.contains(std::string(id));
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

std::variant<Session::Loaded, Session::LoadProblem> SessionManager::load(Session& session) {
  const std::string& id = session.facts().id;
  const auto begin = std::chrono::steady_clock::now();
  const Result<SaverPtr> found = saver_of(session.facts());
  if (!found || !*found)
    return Session::LoadProblem{false, "this session belongs to another server now"};
  const SaverPtr& saver = *found;
  auto loaded = [&] {
    const std::uint64_t origin = session.sandbox_and_origin().second;
    const MutexLock lock(session.save_mutex_);
    if (session.chain_.origin != origin) session.chain_.begin_anew(origin);
    return saver->store().load(session.chain_, id, engine_, options_of_saved(session.facts()));
  }();
  if (auto* problem = std::get_if<StateStore::Problem>(&loaded)) {
    if (problem->damaged) {
      saver->store().set_aside(id);
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
  if (!good.changed_packages.empty()) {
    complain(fmt::format("session {} is restored with other versions of packages: {}", id,
                         fmt::join(good.changed_packages, ", ")));
  }
  std::vector<std::string> changed = std::move(good.changed_packages);
  for (const std::string& name : good.missing_packages) changed.push_back(name + "=none");
  return Session::Loaded{with_python(session, saver->store(), std::move(good.sandbox)),
                         fmt::format("{}", fmt::join(changed, ", "))};
}

// A file of another build, or a damaged one, leaves the session with a fresh interpreter.
Twin SessionManager::with_python(Session& session, StateStore& store,
                                 std::shared_ptr<Sandbox> sandbox) const {
  const MutexLock lock(session.save_mutex_);
  LivePython& live = session.chain_.live;
  if (live.name.empty()) return {std::move(sandbox), nullptr};
  const std::string& id = session.facts().id;
  LiveEvent event = LiveEvent::restored;
  std::shared_ptr<PythonSession> python;
  try {
    python = python_in(sandbox);
    python->restore(store.live_file(id, live.name));
    live.version = python->version();
  } catch (const Error& problem) {
    python = nullptr;
    event = LiveEvent::dropped;
    complain(fmt::format("session {} goes on with a fresh Python, and its files: {}", id,
                         problem.sentence()));
  }
  if (options_.live_python) options_.live_python(event);
  return {std::move(sandbox), std::move(python)};
}

}  // namespace cloche::session

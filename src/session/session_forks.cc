// SPDX-License-Identifier: Apache-2.0
// Sessions that go on from another one, and longer lives.
#include <algorithm>
#include <utility>

#include "session/session_manager.h"

namespace cloche::session {

std::variant<std::vector<std::shared_ptr<Session>>, Refusal> SessionManager::fork(
    const std::shared_ptr<Session>& session, std::size_t count) {
  const Session::Use use = Session::use(session);
  if (!use) {
    std::string trouble = session->trouble();
    return Refusal{RefusalReason::failed, trouble.empty()
                                              ? "the session is not running: resume it first"
                                              : std::move(trouble)};
  }
  std::chrono::seconds ttl{0};
  if (const WallTime expires = session->expires(); expires != WallTime::max()) {
    ttl = std::chrono::ceil<std::chrono::seconds>(expires - clock_.now().wall);
    ttl = std::max(ttl, std::chrono::seconds(1));
  }
  const std::shared_ptr<PythonSession> python = session->made_python();
  const std::string& owner = session->facts().owner;
  auto places = take_places(owner, count);
  if (auto* refused = std::get_if<Refusal>(&places)) return std::move(*refused);
  const Rank rank = std::get<Rank>(places);
  std::vector<std::shared_ptr<Session>> made;
  std::optional<Refusal> refusal;
  std::size_t taken = 0;  // of the places
  while (taken < count && !refusal) {
    Facts facts = session->facts();
    facts.parent = std::exchange(facts.id, {});  // it gets one of its own
    Twin twin;
    try {
      twin = fork_with_python(*use, python.get());
    } catch (const std::exception& error) {
      refusal = Refusal{RefusalReason::failed, error.what()};
      break;
    }
    auto adopted = adopt(std::move(facts), ttl, std::move(twin), Event::forked, rank);
    ++taken;
    if (auto* problem = std::get_if<Refusal>(&adopted)) {
      refusal = std::move(*problem);
    } else {
      made.push_back(std::get<std::shared_ptr<Session>>(std::move(adopted)));
    }
  }
  if (!refusal) return made;
  {
    const MutexLock lock(mutex_);
    give_places_back(owner, rank, count - taken);
  }
  for (const auto& one : made) (void)close(one->facts().id, one->facts().owner);
  return *std::move(refusal);
}

Change SessionManager::extend(const std::shared_ptr<Session>& session, std::chrono::seconds ttl) {
  if (session->status() == Status::closed) return {};
  if (ttl.count() == 0) {
    session->extend(WallTime::max(), SteadyTime::max());
  } else {
    const Moment now = clock_.now();
    session->extend(now.wall + ttl, now.steady + ttl);
  }
  {
    const MutexLock lock(mutex_);
    watch(session);
  }
  const Result<void> saved = save_now(session);
  tell(Event::extended, *session);
  return {true, saved};
}

}  // namespace cloche::session

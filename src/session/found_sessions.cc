// SPDX-License-Identifier: Apache-2.0
// What a state folder has when a server takes it, and what of it has ended.
//
// Sessions end by the time of day that their files say, and machines are wrong about it when they
// start, until somebody tells them: by years where a clock has lost its battery. So whoever seems to
// be over when it is found is neither there nor removed for an hour; where the clock is set back
// meanwhile it is there again. (ManagerOptions::overdue_kept says how long.)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "session/session_manager.h"

namespace cloche::session {
namespace {

constexpr std::chrono::seconds overdue_pause{5};  // nobody tells that a clock has been set

}  // namespace

std::shared_ptr<Session> SessionManager::make_saved(StateStore::Found found, const Moment& now) {
  const WallTime expires = found.facts.expires;
  const SteadyTime deadline =
      expires == WallTime::max()
          ? SteadyTime::max()
          : now.steady + std::chrono::duration_cast<std::chrono::nanoseconds>(expires - now.wall);
  {
    const MutexLock lock(mutex_);
    found.facts.sequence = ++last_sequence_;
  }
  auto session = std::make_shared<Session>(
      std::move(found), [this](Session& one) { return load(one); }, deadline, clock_);
  log_what_happens_in(*session);
  return session;
}

std::vector<std::shared_ptr<Session>> SessionManager::find_saved(const SaverPtr& saver) {
  std::vector<std::shared_ptr<Session>> sessions;
  StateStore::Listing listing = saver->store().list();
  for (const std::string& sentence : listing.trouble) complain(sentence);
  {
    const MutexLock lock(mutex_);
    unread_.insert(listing.unread.begin(), listing.unread.end());
  }
  const Moment now = clock_.now();
  for (StateStore::Found& found : listing.sessions) {
    if (found.facts.expires > now.wall) {
      sessions.push_back(make_saved(std::move(found), now));
      continue;
    }
    if (options_.overdue_kept.count() == 0) {
      remove_overdue(*saver, found);
      continue;
    }
    const MutexLock lock(mutex_);
    overdue_.push_back({std::move(found), saver, now.steady + options_.overdue_kept});
    overdue_look_ = std::min(overdue_look_, now.steady + overdue_pause);
    due_changed_.notify_one();
  }
  return sessions;
}

void SessionManager::remove_overdue(SessionSaver& saver, const StateStore::Found& found) const {
  const std::string& id = found.facts.id;
  if (!saver.store().remove(id, StateStore::Removal::saved, found.chain.live))
    complain("the saved state of session " + id + " cannot be removed");
}

void SessionManager::look_at_overdue() {
  const Moment now = clock_.now();
  std::vector<Overdue> taken;  // of those that are there again, and those that are over
  {
    const MutexLock lock(mutex_);
    const auto stays = [&](const Overdue& one) {
      return one.found.facts.expires <= now.wall && now.steady < one.kept_until;
    };
    const auto gone = std::ranges::stable_partition(overdue_, stays);
    std::ranges::move(gone, std::back_inserter(taken));
    overdue_.erase(gone.begin(), gone.end());
    overdue_look_ = overdue_.empty() ? SteadyTime::max() : now.steady + overdue_pause;
  }
  std::size_t back = 0;
  for (Overdue& one : taken) {
    const SaverPtr saver = one.saver.lock();
    if (!saver) continue;
    if (one.found.facts.expires <= now.wall) {
      remove_overdue(*saver, one.found);
      continue;
    }
    const std::string id = one.found.facts.id;
    const std::shared_ptr<Session> session = make_saved(std::move(one.found), now);
    const MutexLock lock(mutex_);
    const auto its = savers_.find(key_of(id));
    if (its == savers_.end() || its->second != saver) continue;
    add(session);
    ++back;
  }
  if (back > 0) {
    complain(fmt::format(
        "the clock of this machine has been set back: {} saved sessions are there again", back));
  }
}

}  // namespace cloche::session

// SPDX-License-Identifier: Apache-2.0
// Keys of cells, which a server takes and gives up: with a key go all the sessions that have it in
// their ids.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/errno.h"
#include "base/folder_names.h"
#include "base/host_error.h"
#include "session/folder_claim.h"
#include "session/session_manager.h"

namespace cloche::session {

std::vector<CellKey> SessionManager::keys() const {
  std::vector<CellKey> keys;
  const MutexLock lock(mutex_);
  keys.reserve(savers_.size());
  for (const auto& [key, saver] : savers_) keys.push_back(key);
  return keys;
}

bool SessionManager::has_given_up(CellKey key) const {
  const MutexLock lock(mutex_);
  return given_up_.contains(key);
}

std::vector<CellKey> SessionManager::keys_given_up() const {
  const MutexLock lock(mutex_);
  return {given_up_.begin(), given_up_.end()};
}

Result<void, Error> SessionManager::take_key(CellKey key) {
  if (options_.cell == 0 || key == 0)
    return request_error("a server without --cell-key has no keys", Errno::inval);
  if (options_.state_folder.empty())
    return request_error("a key is taken with its folder: there is no --state-dir", Errno::inval);
  const MutexLock keys_lock(keys_mutex_);
  {
    const MutexLock lock(mutex_);
    if (savers_.contains(key)) return {};
    if (ending_) return request_error("the server is about to end", Errno::busy);
  }
  SaverPtr saver;
  std::vector<std::shared_ptr<Session>> sessions;
  try {
    saver = make_saver(key);
    sessions = find_saved(saver);
  } catch (const HostError& problem) {
    return Error(problem);
  }
  const MutexLock lock(mutex_);
  if (sessions_.size() + places_.all() + sessions.size() > options_.session_limit) {
    return request_error(
        fmt::format("there is no room for the {} sessions of key {}", sessions.size(), key),
        Errno::nospc);
  }
  for (const auto& session : sessions) add(session);
  savers_.emplace(key, std::move(saver));
  given_up_.erase(key);
  return {};
}

void SessionManager::take_back_keys() {
  if (options_.cell == 0 || options_.state_folder.empty()) return;
  HostFiles& files = options_.state_files ? *options_.state_files : host_files();
  const auto names = folder_names(options_.state_folder);
  if (!names) {
    return complain(fmt::format("which keys this cell had is not known: {}",
                                errno_info(names.error()).message));
  }
  for (const std::string& name : *names) {
    CellKey key = 0;
    std::from_chars(name.data(), name.data() + name.size(), key);
    const std::string folder = state_folder_of(options_, key);
    if (key == 0 || name != std::to_string(key) || key == options_.cell ||
        FolderClaim::last_cell_of(folder, files) != options_.cell)
      continue;
    if (const auto taken = take_key(key); !taken)
      complain(fmt::format("key {} is not taken back: {}", key, taken.error().sentence()));
  }
}

// Whoever looks for one of them from here on is told that they are elsewhere.
std::vector<std::shared_ptr<Session>> SessionManager::take_out_key(CellKey key) {
  std::vector<std::shared_ptr<Session>> taken;
  const MutexLock lock(mutex_);
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (key_of(it->first) != key) {
      ++it;
      continue;
    }
    taken.push_back(it->second);
    it = sessions_.erase(it);
  }
  for (auto it = owners_.begin(); it != owners_.end();) {
    std::erase_if(it->second,
                  [&](const auto& session) { return key_of(session->facts().id) == key; });
    it = it->second.empty() ? owners_.erase(it) : std::next(it);
  }
  std::ranges::sort(taken, {}, [](const auto& session) { return session->facts().sequence; });
  return taken;
}

// What runs has time until the deadline, and is ended then, once who waits for it has been told: what
// it has done is there to be saved.
void SessionManager::end_uses_of(const std::vector<std::shared_ptr<Session>>& sessions,
                                 SteadyTime deadline) const {
  constexpr std::chrono::seconds time_to_end{1};
  std::vector<std::shared_ptr<Session>> used;
  for (const auto& session : sessions) {
    if (!session->begin_to_leave(deadline)) used.push_back(session);
  }
  for (const auto& session : used) {
    let_go(*session);
    if (const std::shared_ptr<Sandbox> sandbox = session->sandbox()) sandbox->cancel();
  }
  const SteadyTime end = std::chrono::steady_clock::now() + time_to_end;
  for (const auto& session : used) (void)session->begin_to_leave(end);
}

Result<void, Error> SessionManager::give_up_key(CellKey key, std::chrono::milliseconds patience) {
  if (options_.state_folder.empty())
    return request_error("a key is given up with its folder: there is no --state-dir",
                         Errno::inval);
  const MutexLock keys_lock(keys_mutex_);
  SaverPtr saver;
  {
    const MutexLock lock(mutex_);
    const auto it = savers_.find(key);
    if (it == savers_.end() || key == 0)
      return request_error(fmt::format("key {} is not here", key), Errno::noent);
    given_up_.insert(key);
    saver = it->second;
  }
  const SteadyTime deadline = std::chrono::steady_clock::now() + patience;
  {
    // New sessions would have the server's own key.
    const MutexLock lock(mutex_);
    if (key == options_.cell && !made_.wait_until(mutex_, deadline, [this]() REQUIRES(mutex_) {
          return places_.all() == 0;
        })) {
      given_up_.erase(key);
      return request_error("sessions are being made: try again", Errno::busy);
    }
    savers_.erase(key);
    leaving_.emplace(key, saver);
  }
  const auto sessions = take_out_key(key);
  end_uses_of(sessions, deadline);
  Result<void, Error> saved;
  for (const auto& session : sessions) {
    if (session->facts().lifetime != Lifetime::of_use) continue;
    if (const Result<void> written = saver->save_now(session); !written && saved) {
      saved = Error(ErrorKind::host, written.error(),
                    fmt::format("session {} cannot be saved: {}", session->facts().id,
                                errno_info(written.error()).message));
    }
  }
  if (!saved) {
    const MutexLock lock(mutex_);
    leaving_.erase(key);
    savers_.emplace(key, std::move(saver));
    given_up_.erase(key);
    for (const auto& session : sessions) {
      session->stay();
      add(session);
    }
    return saved;
  }
  for (const auto& session : sessions) session->leave();
  end_all_of(sessions);
  const MutexLock lock(mutex_);
  leaving_.erase(key);
  return {};
}

void SessionManager::end_all_of(const std::vector<std::shared_ptr<Session>>& sessions) {
  for (const auto& session : sessions) {
    stop(*session);
    tell(Event::left, *session);
  }
  look_at_memory();
}

void SessionManager::let_go_of_taken_keys() {
  std::map<CellKey, SaverPtr> savers;
  {
    const MutexLock lock(mutex_);
    savers = savers_;
  }
  std::erase_if(savers, [](const auto& each) {
    return each.first == 0 || !each.second || !each.second->store().has_been_taken();
  });
  for (const auto& [key, saver] : savers) {
    const MutexLock keys_lock(keys_mutex_);
    {
      const MutexLock lock(mutex_);
      const auto it = savers_.find(key);
      if (it == savers_.end() || it->second != saver) continue;
      given_up_.insert(key);
      savers_.erase(it);
    }
    complain(
        fmt::format("another server has taken the folder of key {}: its sessions end here", key));
    const auto sessions = take_out_key(key);
    for (const auto& session : sessions)
      (void)session->begin_to_leave(std::chrono::steady_clock::now());
    end_all_of(sessions);
  }
}

}  // namespace cloche::session

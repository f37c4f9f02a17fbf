#include "session/session_manager.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "cloche/check.h"

namespace cloche::session {
namespace {

std::string random_uuid() {
  std::array<unsigned char, 16> b{};
  CLOCHE_CHECK(::getrandom(b.data(), b.size(), 0) == static_cast<ssize_t>(b.size()));
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    fmt::format_to(std::back_inserter(text), "{:02x}", b[i]);
  }
  return text;
}

// What this process has in memory; 0 where the host does not say.
std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

SessionManager::SessionManager(Engine& engine, ManagerOptions options)
    : engine_(engine), options_(std::move(options)) {
  if (!options_.state_folder.empty()) {
    store_ = std::make_unique<StateStore>(options_.state_folder);
    restore_all();
  }
  reaper_ = std::thread([this] { reap(); });
}

SessionManager::~SessionManager() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    due_changed_.notify_all();
  }
  reaper_.join();
  end();
}

std::variant<std::shared_ptr<Session>, Refusal> SessionManager::create(
    const SessionRequest& request) {
  if (options_.memory_limit_bytes > 0 && resident_bytes() > options_.memory_limit_bytes)
    return Refusal{"the server has no memory for another session: delete one, or try again later"};
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return Refusal{"the server is about to end"};
    if (sessions_.size() + being_made_ >= options_.session_limit) {
      return Refusal{fmt::format("there are {} sessions already, which is the limit: delete one",
                                 options_.session_limit)};
    }
    const auto own = owners_.find(request.owner);
    if (options_.session_limit_per_owner > 0 && own != owners_.end() &&
        own->second.size() >= options_.session_limit_per_owner) {
      return Refusal{fmt::format("you have {} sessions already, which is your limit: delete one",
                                 options_.session_limit_per_owner)};
    }
    ++being_made_;
  }
  std::unique_ptr<Sandbox> sandbox;
  try {
    sandbox = engine_.create(options_.sandbox);
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    --being_made_;
    return Refusal{error.what()};
  }
  Facts facts{.id = random_uuid(),
              .owner = request.owner,
              .metadata = request.metadata,
              .image = request.image,
              .ssh_public_key = request.ssh_public_key,
              .created = std::chrono::system_clock::now(),
              .expires = WallTime::max(),
              .sequence = 0};
  SteadyTime deadline = SteadyTime::max();
  if (request.ttl.count() > 0) {
    facts.expires = facts.created + request.ttl;
    deadline = std::chrono::steady_clock::now() + request.ttl;
  }
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    --being_made_;
    facts.sequence = ++last_sequence_;
    session = std::make_shared<Session>(std::move(facts), std::move(sandbox), deadline);
    add(session);
  }
  if (store_ && !store_->save(session->facts(), Status::running, {}))
    complain("cannot save session " + session->facts().id);
  tell(Event::created, *session);
  return session;
}

// Under the lock.
void SessionManager::add(const std::shared_ptr<Session>& session) {
  sessions_.emplace(session->facts().id, session);
  owners_[session->facts().owner].emplace(session->facts().sequence, session);
  const SteadyTime when = session->due(options_.idle_timeout);
  if (when == SteadyTime::max()) return;
  const bool first = due_.empty() || when < due_.top().when;
  due_.push({when, session});
  if (first) due_changed_.notify_one();
}

std::shared_ptr<Session> SessionManager::find_any(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto it = sessions_.find(std::string(id));
  if (it == sessions_.end() ||
      it->second->due(options_.idle_timeout) <= std::chrono::steady_clock::now())
    return nullptr;
  return it->second;
}

std::shared_ptr<Session> SessionManager::find(std::string_view id, std::string_view owner) {
  std::shared_ptr<Session> session = find_any(id);
  return session && session->facts().owner == owner ? session : nullptr;
}

SessionManager::Page SessionManager::list(const std::string& owner, std::size_t limit,
                                          std::size_t offset) {
  Page page;
  const std::lock_guard lock(mutex_);
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return page;
  page.total = own->second.size();
  if (offset >= page.total) return page;
  auto it = std::next(own->second.begin(), static_cast<std::ptrdiff_t>(offset));
  for (; it != own->second.end() && page.sessions.size() < limit; ++it)
    page.sessions.push_back(it->second);
  return page;
}

std::shared_ptr<Session> SessionManager::take_out(std::string_view id,
                                                  const std::string_view* owner) {
  const std::lock_guard lock(mutex_);
  const auto it = sessions_.find(std::string(id));
  if (it == sessions_.end() || (owner && it->second->facts().owner != *owner)) return nullptr;
  std::shared_ptr<Session> session = std::move(it->second);
  sessions_.erase(it);
  const auto own = owners_.find(session->facts().owner);
  own->second.erase(session->facts().sequence);
  if (own->second.empty()) owners_.erase(own);
  return session;
}

bool SessionManager::close(std::string_view id, std::string_view owner) {
  const std::shared_ptr<Session> session = take_out(id, &owner);
  if (!session) return false;
  session->close();
  forget(*session);
  tell(Event::closed, *session);
  return true;
}

void SessionManager::end() {
  if (!store_) return close_all();
  std::vector<std::shared_ptr<Session>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, session] : sessions_) all.push_back(std::move(session));
    sessions_.clear();
    owners_.clear();
  }
  for (const auto& session : all) {
    save(session);
    session->close();
    tell(Event::closed, *session);
  }
}

void SessionManager::close_all() {
  std::vector<std::shared_ptr<Session>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, session] : sessions_) all.push_back(std::move(session));
    sessions_.clear();
    owners_.clear();
  }
  for (const auto& session : all) {
    session->close();
    forget(*session);
    tell(Event::closed, *session);
  }
}

bool SessionManager::pause(const std::shared_ptr<Session>& session) {
  if (!session->pause()) return false;
  save(session);
  tell(Event::paused, *session);
  return true;
}

bool SessionManager::resume(const std::shared_ptr<Session>& session) {
  if (!session->resume()) return false;
  save(session);
  {
    // The idle time counts again.
    const std::lock_guard lock(mutex_);
    const SteadyTime when = session->due(options_.idle_timeout);
    if (when != SteadyTime::max()) {
      due_.push({when, session});
      due_changed_.notify_one();
    }
  }
  tell(Event::resumed, *session);
  return true;
}

std::size_t SessionManager::count() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

void SessionManager::complain(const std::string& sentence) const {
  if (options_.trouble) options_.trouble(sentence);
}

void SessionManager::tell(Event event, const Session& session) const {
  if (options_.audit) options_.audit(event, session);
}

void SessionManager::reap() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (due_.empty()) {
      due_changed_.wait(lock);
      continue;
    }
    const SteadyTime when = due_.top().when;
    if (std::chrono::steady_clock::now() < when) {
      due_changed_.wait_until(lock, when);
      continue;
    }
    const std::shared_ptr<Session> session = due_.top().session.lock();
    due_.pop();
    if (!session || !sessions_.contains(session->facts().id)) continue;
    const SteadyTime due = session->due(options_.idle_timeout);
    if (due > std::chrono::steady_clock::now()) {
      // Used since it was queued. One that never comes due again needs no entry.
      if (due != SteadyTime::max()) due_.push({due, session});
      continue;
    }
    lock.unlock();
    if (take_out(session->facts().id, nullptr)) {
      session->close();
      forget(*session);
      tell(std::chrono::system_clock::now() >= session->facts().expires ? Event::expired
                                                                        : Event::idled,
           *session);
    }
    lock.lock();
  }
}

}  // namespace cloche::session

// SPDX-License-Identifier: Apache-2.0
#include "session/session_manager.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/resident_memory.h"
#include "base/thread_name.h"

namespace cloche::session {
namespace {

constexpr std::size_t due_spare = 1024;
constexpr std::size_t wish_max_bytes = 1 << 20;  // as JSON
constexpr std::chrono::seconds memory_interval{1};
constexpr std::uint64_t trim_step_bytes = 64ULL << 20;
constexpr std::uint64_t idle_trim_step_bytes = 1ULL << 20;

const char* name_of(Event event) {
  switch (event) {
    case Event::created: return "created";
    case Event::forked: return "forked";
    case Event::restored: return "restored";
    case Event::closed: return "deleted";
    case Event::expired: return "expired";
    case Event::idled: return "idle";
    case Event::paused: return "paused";
    case Event::resumed: return "resumed";
    case Event::extended: return "extended";
    case Event::ended: return "ended";
    case Event::left: return "left";
  }
  return "";
}

Refusal owner_is_full(std::size_t limit) {
  return {RefusalReason::owner_limit,
          fmt::format("you have {} sessions already, which is your limit: delete one", limit)};
}

}  // namespace

std::string state_folder_of(const ManagerOptions& options, CellKey key) {
  const std::string& folder = options.state_folder;
  return folder.empty() || key == 0 ? folder : fmt::format("{}/{}", folder, key);
}

SessionManager::SessionManager(Engine& engine, ManagerOptions options)
    : engine_(engine),
      options_(std::move(options)),
      clock_(options_.clock ? *options_.clock : host_clock()),
      events_(options_.witness),
      places_(options_.cell) {
  SaverPtr saver = options_.state_folder.empty() ? nullptr : make_saver(options_.cell);
  {
    const MutexLock lock(mutex_);
    savers_.emplace(options_.cell, saver);
  }
  if (saver) {
    for (const auto& session : find_saved(saver)) {
      const MutexLock lock(mutex_);
      add(session);
    }
  }
  reaper_ = std::thread(with_name("cloche-reaper", [this] { reap(); }));
}

SessionManager::~SessionManager() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    due_changed_.notify_all();
  }
  reaper_.join();
  end();
}

double Room::headroom() const {
  if (ending || sessions >= session_limit) return 0;
  const double of_sessions = 1 - static_cast<double>(sessions) / static_cast<double>(session_limit);
  if (memory_limit_bytes == 0) return of_sessions;
  const double of_memory =
      1 - static_cast<double>(memory_bytes) / static_cast<double>(memory_limit_bytes);
  return std::max(0.0, std::min(of_sessions, of_memory));
}

std::variant<std::shared_ptr<Session>, Refusal> SessionManager::create(
    const SessionRequest& request, const MakeSandbox& make_sandbox) {
  const auto begin = std::chrono::steady_clock::now();
  auto place = take_places(request.owner, 1);
  auto* no_place = std::get_if<Refusal>(&place);
  auto made = no_place ? std::move(*no_place) : make(request, make_sandbox, std::get<Rank>(place));
  if (const auto* refused = std::get_if<Refusal>(&made)) {
    if (options_.refused) options_.refused(refused->reason);
  } else if (options_.timed) {
    options_.timed(Timed::creation, std::chrono::steady_clock::now() - begin);
  }
  return made;
}

// Counts those that are being made, or says why there may be none.
std::variant<Rank, Refusal> SessionManager::take_places(const std::string& owner,
                                                        std::size_t count) {
  if (options_.memory_limit_bytes > 0 && resident_bytes() > options_.memory_limit_bytes) {
    trim_memory();
    if (resident_bytes() > options_.memory_limit_bytes) {
      return Refusal{
          RefusalReason::memory,
          "the server has no memory for another session: delete one, or try again later"};
    }
  }
  Rank rank;
  std::size_t owned = 0;
  {
    const MutexLock lock(mutex_);
    const auto own = owners_.find(owner);
    owned = (own == owners_.end() ? 0 : own->second.size()) + places_.of(owner);
    if (auto refusal = no_room(owned, count)) return *std::move(refusal);
    rank = places_.take(owner, count);
  }
  const std::size_t limit = options_.session_limit_per_owner;
  if (limit == 0 || !options_.count_elsewhere) return rank;
  CountElsewhere elsewhere = options_.count_elsewhere(owner, rank);
  const bool fits = owned + count <= limit && elsewhere.count <= limit - owned - count;
  if (fits && elsewhere.trouble.empty()) return rank;
  const MutexLock lock(mutex_);
  give_places_back(owner, rank, count);
  if (!fits) return owner_is_full(limit);
  return Refusal{RefusalReason::owner_unsure, std::move(elsewhere.trouble)};
}

// Under the lock.
std::optional<Refusal> SessionManager::no_room(std::size_t owned, std::size_t count) const {
  if (closing_ || ending_ || given_up_.contains(options_.cell))
    return Refusal{RefusalReason::ending, "the server is about to end"};
  const std::size_t limit = options_.session_limit_per_owner;
  if (limit > 0 && owned + count > limit) return owner_is_full(limit);
  if (sessions_.size() + places_.all() + count > options_.session_limit) {
    return Refusal{RefusalReason::session_limit,
                   fmt::format("there are {} sessions already, which is the limit: delete one",
                               options_.session_limit)};
  }
  return std::nullopt;
}

std::size_t SessionManager::count_of(const std::string& owner, const Rank& asked) {
  const MutexLock lock(mutex_);
  const auto own = owners_.find(owner);
  return (own == owners_.end() ? 0 : own->second.size()) + places_.before(owner, asked);
}

std::uint64_t SessionManager::last_rank() const {
  const MutexLock lock(mutex_);
  return places_.last();
}

void SessionManager::hear_of_rank(std::uint64_t number) {
  const MutexLock lock(mutex_);
  places_.hear_of(number);
}

// Under the lock.
void SessionManager::give_places_back(const std::string& owner, const Rank& rank,
                                      std::size_t count) {
  places_.give_back(owner, rank, count);
  if (places_.all() == 0) made_.notify_all();
}

std::variant<std::shared_ptr<Session>, Refusal> SessionManager::make(
    const SessionRequest& request, const MakeSandbox& make_sandbox, const Rank& rank) {
  std::unique_ptr<Sandbox> sandbox;
  try {
    sandbox = make_sandbox ? make_sandbox()
                           : engine_.create(request.sandbox ? *request.sandbox : options_.sandbox);
  } catch (const std::exception& problem) {
    const MutexLock lock(mutex_);
    give_places_back(request.owner, rank, 1);
    Refusal refusal{RefusalReason::failed, problem.what()};
    if (const auto* error = dynamic_cast<const Error*>(&problem)) refusal.error = *error;
    return refusal;
  }
  Facts facts;
  facts.owner = request.owner;
  facts.metadata = request.metadata;
  facts.image = request.image;
  facts.ssh_public_key = request.ssh_public_key;
  facts.door = request.door;
  facts.wish = request.wish;
  facts.id = request.id;
  facts.lifetime = request.lifetime;
  return adopt(std::move(facts), request.ttl, {std::move(sandbox), nullptr}, Event::created, rank);
}

SandboxOptions SessionManager::options_for(const Json& wish, sandbox::Beyond beyond) const {
  if (!wish.empty() && write_json(wish).size() > wish_max_bytes)
    throw request_error("what is asked for the sandbox is more than 1 MiB", Errno::toobig);
  return sandbox::options_within(options_.sandbox, options_.grants, wish, beyond);
}

std::variant<std::shared_ptr<Session>, Refusal> SessionManager::adopt(Facts facts,
                                                                      std::chrono::seconds ttl,
                                                                      Twin state, Event event,
                                                                      const Rank& rank) {
  if (facts.id.empty()) facts.id = new_session_id(options_.cell);
  const Moment now = clock_.now();
  facts.created = now.wall;
  facts.expires = WallTime::max();
  SteadyTime deadline = SteadyTime::max();
  if (ttl.count() > 0) {
    facts.expires = now.wall + ttl;
    deadline = now.steady + ttl;
  }
  std::shared_ptr<Session> session;
  const Result<SaverPtr> saver = saver_of(facts);
  {
    const MutexLock lock(mutex_);
    give_places_back(facts.owner, rank, 1);
    facts.sequence = ++last_sequence_;
    session = std::make_shared<Session>(std::move(facts), std::move(state), deadline, clock_);
    if (saver && *saver) session->reload_by([this](Session& one) { return load(one); });
    log_what_happens_in(*session);
    add(session);
  }
  if (const Result<void> saved = save_now(session); !saved) {
    (void)take_out(session->facts().id, nullptr);
    stop(*session);
    (void)forget(*session, StateStore::Removal::saved);
    return Refusal{
        RefusalReason::not_saved,
        fmt::format("the session cannot be saved: {}", errno_info(saved.error()).message),
        saved.error()};
  }
  tell(event, *session);
  return session;
}

// Under the lock.
void SessionManager::add(const std::shared_ptr<Session>& session) {
  sessions_.emplace(session->facts().id, session);
  // Nearly always at the end: what comes from another server may be older.
  ByAge& own = owners_[session->facts().owner];
  own.insert(std::ranges::upper_bound(own, age_of(session), {}, age_of), session);
  watch(session);
}

// Under the lock.
void SessionManager::watch(const std::shared_ptr<Session>& session) {
  // What is closed before its time leaves its entry: not for more of them than there are sessions.
  if (due_.size() > 2 * sessions_.size() + due_spare) {
    due_ = {};
    for (const auto& [id, other] : sessions_) {
      const SteadyTime when = other->due(options_.idle_timeout);
      if (when != SteadyTime::max()) due_.push({when, other});
    }
  }
  const SteadyTime when = session->due(options_.idle_timeout);
  if (when == SteadyTime::max()) return;
  const bool first = due_.empty() || when < due_.top().when;
  due_.push({when, session});
  if (first) due_changed_.notify_one();
}

std::shared_ptr<Session> SessionManager::find_any(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto it = sessions_.find(std::string(id));
  // Taken first: one that is in use is due later than whenever that is.
  const SteadyTime now = clock_.now().steady;
  if (it == sessions_.end() || it->second->due(options_.idle_timeout) <= now) return nullptr;
  return it->second;
}

std::shared_ptr<Session> SessionManager::find(std::string_view id, std::string_view owner) {
  std::shared_ptr<Session> session = find_any(id);
  return session && session->facts().owner == owner ? session : nullptr;
}

std::optional<CellKey> SessionManager::other_cell(std::string_view id) const {
  if (options_.cell == 0) return std::nullopt;
  const std::optional<CellKey> cell = cell_of(id);
  if (!cell) return std::nullopt;
  const MutexLock lock(mutex_);
  return savers_.contains(*cell) ? std::nullopt : cell;
}

SessionManager::Page SessionManager::list(const std::string& owner, std::size_t limit,
                                          std::size_t offset) {
  Page page;
  const MutexLock lock(mutex_);
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return page;
  page.total = own->second.size();
  if (offset >= page.total) return page;
  const auto newest = own->second.rbegin() + static_cast<std::ptrdiff_t>(offset);
  const std::size_t count = std::min(limit, page.total - offset);
  page.sessions.assign(newest, newest + static_cast<std::ptrdiff_t>(count));
  return page;
}

std::shared_ptr<Session> SessionManager::take_out(std::string_view id,
                                                  const std::string_view* owner) {
  const MutexLock lock(mutex_);
  const auto it = sessions_.find(std::string(id));
  if (it == sessions_.end() || (owner && it->second->facts().owner != *owner)) return nullptr;
  std::shared_ptr<Session> session = std::move(it->second);
  sessions_.erase(it);
  const auto own = owners_.find(session->facts().owner);
  own->second.erase(std::ranges::lower_bound(own->second, age_of(session), {}, age_of));
  if (own->second.empty()) owners_.erase(own);
  return session;
}

Change SessionManager::close(std::string_view id, std::string_view owner) {
  const std::shared_ptr<Session> session = take_out(id, &owner);
  if (!session) return {};
  stop(*session);
  const Result<void> forgotten = forget(*session, StateStore::Removal::also_set_aside);
  tell(Event::closed, *session);
  look_at_memory();
  return {true, forgotten};
}

std::vector<std::shared_ptr<Session>> SessionManager::take_out_all() {
  std::vector<std::shared_ptr<Session>> all;
  const MutexLock lock(mutex_);
  all.reserve(sessions_.size());
  for (auto& [id, session] : sessions_) all.push_back(std::move(session));
  sessions_.clear();
  owners_.clear();
  return all;
}

// A process that waits for its client to read is ended when the client has gone.
void SessionManager::stop(Session& session) {
  (void)session.close([&] { let_go(session); });
}

void SessionManager::let_go(const Session& session) const {
  if (options_.stopping) options_.stopping(session);
}

void SessionManager::end() {
  for (const auto& session : take_out_all()) {
    (void)save_now(session);
    stop(*session);
    tell(Event::ended, *session);
  }
  const MutexLock lock(mutex_);
  all_seen_to_.wait(mutex_, [this]() REQUIRES(mutex_) { return seen_to_.empty(); });
}

void SessionManager::close_all() {
  for (const auto& session : take_out_all()) {
    stop(*session);
    (void)forget(*session, StateStore::Removal::saved);
    tell(Event::closed, *session);
  }
}

Change SessionManager::pause(const std::shared_ptr<Session>& session, Processes processes) {
  const auto stopping = [&] { let_go(*session); };
  try {
    if (!(processes == Processes::stop ? session->freeze(stopping) : session->pause(stopping)))
      return {};
  } catch (const Error& why) {
    complain(fmt::format("session {} cannot be paused: {}", session->facts().id, why.sentence()));
    return {false, why.code()};
  }
  const Result<void> saved = save_now(session);
  tell(Event::paused, *session);
  return {true, saved};
}

Change SessionManager::resume(const std::shared_ptr<Session>& session) {
  if (!session->resume()) return {};
  const Result<void> saved = save_now(session);
  {
    // The idle time counts again.
    const MutexLock lock(mutex_);
    watch(session);
  }
  tell(Event::resumed, *session);
  return {true, saved};
}

void SessionManager::set_deadline(const std::shared_ptr<Session>& session, SteadyTime deadline) {
  {
    const MutexLock lock(session->mutex_);
    session->deadline_ = deadline;
  }
  const MutexLock lock(mutex_);
  watch(session);
}

std::size_t SessionManager::count() const {
  const MutexLock lock(mutex_);
  return sessions_.size();
}

Room SessionManager::room() const {
  const MutexLock lock(mutex_);
  return {.sessions = sessions_.size(),
          .session_limit = options_.session_limit,
          .memory_bytes = resident_bytes(),
          .memory_limit_bytes = options_.memory_limit_bytes,
          .ending = ending_ || closing_ || given_up_.contains(options_.cell)};
}

void SessionManager::stop_creating() {
  const MutexLock lock(mutex_);
  ending_ = true;
}

void SessionManager::complain(const std::string& sentence) const {
  if (options_.trouble) options_.trouble(sentence);
}

void SessionManager::log_what_happens_in(Session& session) {
  session.watch_by([this, id = session.facts().id, owner = session.facts().owner](Sandbox& one) {
    if (options_.session_limit_per_owner > 0) one.set_owner(owner);  // there are others
    one.observe(
        {.run = [=, this](const RunEvent& event) { events_.add_run(id, owner, event); },
         .network = [=,
                     this](const NetworkEvent& event) { events_.add_network(id, owner, event); }});
  });
}

void SessionManager::tell(Event event, const Session& session) const {
  LoggedEvent logged;
  logged.session_id = session.facts().id;
  logged.owner = session.facts().owner;
  logged.kind = name_of(event);
  logged.text = event == Event::forked ? session.facts().parent : session.facts().door;
  events_.add(std::move(logged));
  if (options_.audit) options_.audit(event, session);
}

// What sandboxes give back stays with the allocator, which does not know that most of it will not
// be wanted again: left alone, a server would stay as large as it once was. The reaper sees to it.
void SessionManager::look_at_memory() {
  const MutexLock lock(mutex_);
  if (memory_due_ != SteadyTime::max()) return;
  memory_due_ = std::max(clock_.now().steady, memory_looked_at_ + memory_interval);
  due_changed_.notify_one();
}

void SessionManager::trim_memory() {
  // It has grown since the last time; or the allocator has much that is free, and some of that may
  // be in memory: it does not say how much. Without a session nearly all that is free is waste.
  const std::uint64_t step_bytes = count() == 0 ? idle_trim_step_bytes : trim_step_bytes;
  const struct mallinfo2 heap = ::mallinfo2();
  const std::uint64_t resident = resident_bytes();
  const bool grown = resident >= resident_after_trim_ + step_bytes;
  const bool freed =
      heap.fordblks >= step_bytes && resident >= heap.uordblks + heap.hblkhd + step_bytes;
  if (!grown && !freed) return;
  ::malloc_trim(0);
  resident_after_trim_ = resident_bytes();
}

void SessionManager::reap() {
  ReleasableMutexLock lock(mutex_);
  while (!closing_) {
    const SteadyTime now = clock_.now().steady;
    if (memory_due_ <= now) {
      memory_due_ = SteadyTime::max();
      memory_looked_at_ = now;
      lock.unlock();
      trim_memory();
      lock.lock();
      continue;
    }
    if (overdue_look_ <= now) {
      lock.unlock();
      look_at_overdue();
      lock.lock();
      continue;
    }
    const SteadyTime next = due_.empty() ? SteadyTime::max() : due_.top().when;
    if (now < next) {
      due_changed_.wait_until(mutex_, clock_, std::min({next, memory_due_, overdue_look_}));
      continue;
    }
    const std::shared_ptr<Session> session = due_.top().session.lock();
    due_.pop();
    if (!session || !sessions_.contains(session->facts().id)) continue;
    const SteadyTime due = session->due(options_.idle_timeout);
    if (due > now) {
      // Used since it was queued. One that never comes due again needs no entry.
      if (due != SteadyTime::max()) due_.push({due, session});
      continue;
    }
    if (seen_to_.insert(session->facts().id).second)
      looks_.post([this, session] { see_to_end(session); });
  }
}

void SessionManager::see_to_end(const std::shared_ptr<Session>& session) {
  const std::string& id = session->facts().id;
  const bool of_time = session->facts().lifetime == Lifetime::of_time;
  const bool lives_on = of_time && options_.came_due && options_.came_due(session);
  // It may have been used, or given more time, since it was due.
  const bool is_due =
      !session->has_more_time() && session->due(options_.idle_timeout) <= clock_.now().steady;
  if (!lives_on && is_due && take_out(id, nullptr)) {
    stop(*session);
    (void)forget(*session, StateStore::Removal::saved);
    tell(clock_.now().wall >= session->expires() ? Event::expired : Event::idled, *session);
    look_at_memory();
  }
  const MutexLock lock(mutex_);
  seen_to_.erase(id);
  if (sessions_.contains(id)) watch(session);  // what came meanwhile was not looked at
  if (seen_to_.empty()) all_seen_to_.notify_all();
}

}  // namespace cloche::session

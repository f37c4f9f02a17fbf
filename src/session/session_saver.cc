// SPDX-License-Identifier: Apache-2.0
#include "session/session_saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace cloche::session {
namespace {

constexpr std::chrono::seconds delay_max{30};
constexpr std::chrono::seconds soon{10};
// For a shell to say what it is, and for a Python to come to rest; each.
constexpr std::chrono::milliseconds time_to_rest{10'000};

}  // namespace

SessionSaver::SessionSaver(SaverOptions options)
    : options_(std::move(options)),
      clock_(options_.clock ? *options_.clock : host_clock()),
      store_(options_.folder, options_.files ? *options_.files : host_files(), options_.cell),
      worker_([this] { work(); }) {}

SessionSaver::~SessionSaver() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

Result<void> SessionSaver::save(const std::shared_ptr<Session>& session) {
  if (options_.policy == SavePolicy::always) return save_now(session);
  if (options_.policy == SavePolicy::interval) save_within(session, options_.interval);
  return {};
}

void SessionSaver::save_soon(const std::shared_ptr<Session>& session) {
  if (options_.policy == SavePolicy::always) save_within(session, soon);
  if (options_.policy == SavePolicy::interval) save_within(session, options_.interval);
}

void SessionSaver::save_within(const std::shared_ptr<Session>& session, std::chrono::seconds time) {
  const MutexLock lock(mutex_);
  waiting_.emplace(session->facts().id, session);
  if (interval_due_ != SteadyTime::max()) return;
  interval_due_ = clock_.now().steady + time;
  changed_.notify_all();
}

Result<void> SessionSaver::save_now(const std::shared_ptr<Session>& session) {
  // Whoever waits here while another save runs may find its change saved already by the next one.
  const std::uint64_t change = ++session->changes_;
  const MutexLock lock(session->save_mutex_);
  if (session->saved_ >= change) return {};
  const std::uint64_t changes = session->changes_;
  if (const std::optional<NotWritten> failed = write(*session)) {
    note_failure(session->facts().id, {.session = session, .is_its_own = failed->is_its_own},
                 failed->error);
    return failed->error;
  }
  session->saved_ = changes;
  note_saved(session->facts().id);
  return {};
}

std::optional<SessionSaver::NotWritten> SessionSaver::write(Session& session) {
  const auto begin = std::chrono::steady_clock::now();
  const auto [sandbox, origin] = session.sandbox_and_origin();
  const Status status = session.status();
  if (status == Status::closed) return std::nullopt;
  // What it was is what was saved last: who asks for something in it hears of that.
  if (sandbox && !sandbox->why_ended().empty()) return std::nullopt;
  if (session.chain_.origin != origin) session.chain_.begin_anew(origin);
  // One that is frozen has processes, which stand still, and a Python that may be in the middle of
  // something; one whose pause is under way is saved by that.
  const bool is_at_rest = status == Status::paused && !session.is_frozen() && !session.is_pausing();
  std::optional<Checkpoint> now;
  try {
    if (sandbox) now.emplace(checkpoint_of(session, *sandbox, is_at_rest));
  } catch (const Error& problem) {
    return NotWritten{problem.code(), problem.kind() == ErrorKind::sandbox};
  }
  const std::string old_live = session.chain_.live.name;
  const Result<LivePython> live = live_of(session, sandbox != nullptr, is_at_rest);
  Facts facts = session.facts();
  facts.expires = session.expires();
  const auto saved = live ? store_.save(session.chain_, facts, status, now ? &*now : nullptr, *live)
                          : Result<StateStore::Saved>(live.error());
  if (options_.saved) {
    SaveEvent event;
    event.result = !saved              ? SaveEvent::Result::failed
                   : saved->bytes == 0 ? SaveEvent::Result::unchanged
                                       : SaveEvent::Result::saved;
    event.bytes = saved ? saved->bytes : 0;
    if (saved && live->name != old_live && !live->name.empty()) {
      std::error_code gone;
      const auto bytes = std::filesystem::file_size(store_.live_file(facts.id, live->name), gone);
      event.bytes += gone ? 0 : bytes;
    }
    event.duration = std::chrono::steady_clock::now() - begin;
    options_.saved(event);
  }
  if (!saved) return NotWritten{saved.error()};
  return std::nullopt;
}

Checkpoint SessionSaver::checkpoint_of(Session& session, Sandbox& sandbox, bool is_at_rest) const {
  const std::chrono::milliseconds time = is_at_rest ? time_to_rest : std::chrono::milliseconds(0);
  Checkpoint now(sandbox, Checkpoint::WithShell{.time = time});
  if (!now.shell_problem().empty()) {
    complain(fmt::format("the kept shell of session {} is not saved: {}", session.facts().id,
                         now.shell_problem()));
  }
  return now;
}

Result<LivePython> SessionSaver::live_of(Session& session, bool has_been_read, bool is_at_rest) {
  const LivePython& saved = session.chain_.live;
  if (!has_been_read) return saved;
  const std::shared_ptr<PythonSession> python = session.made_python();
  const std::uint64_t version = python ? python->version() : 0;
  if (version == 0) return LivePython();
  if (version == saved.version) return saved;
  return is_at_rest ? write_live(session, *python) : LivePython();
}

// What the host lacks (a full disk) is told, and tried again; what cannot be saved at all is left
// out, as the files are worth more.
Result<LivePython> SessionSaver::write_live(Session& session, PythonSession& python) {
  const std::string& id = session.facts().id;
  const auto left_out = [&](std::string_view why) {
    complain(fmt::format("the live Python of session {} is not saved: {}", id, why));
    if (options_.live_python) options_.live_python(LiveEvent::left_out);
    return LivePython();
  };
  const std::unique_lock turn(session.python_turn(), time_to_rest);
  if (!turn.owns_lock()) return left_out("something is executed in it");
  CLOCHE_ASSIGN(LivePython live, store_.new_live_file(id, python.version()));
  Result<void> written;
  try {
    python.checkpoint(store_.live_file(id, live.name), CheckpointFile::over_started,
                      {.bytes = options_.live_python_bytes, .time = time_to_rest});
    written = store_.sync_live_file(id, live);
  } catch (const Error& problem) {
    if (problem.kind() != ErrorKind::host || problem == Errno::fbig) {
      store_.remove_live_file(id, live);
      return left_out(problem.sentence());
    }
    written = problem.code();
  }
  if (!written) {
    store_.remove_live_file(id, live);
    return written.error();
  }
  if (options_.live_python) options_.live_python(LiveEvent::saved);
  return live;
}

Result<void> SessionSaver::forget(Session& session, StateStore::Removal what) {
  const std::string& id = session.facts().id;
  const MutexLock lock(session.save_mutex_);
  const LivePython live = session.chain_.live;
  const Result<void> removed = store_.remove(id, what, live);
  if (removed) {
    note_success(id);
  } else {
    note_failure(id, {.session = {}, .removal = what, .live = live}, removed.error());
  }
  return removed;
}

void SessionSaver::note_failure(const std::string& id, Unsaved what, Errno error) {
  const char* why = error == Errno::stale ? "another server has taken the state folder"
                                          : errno_info(error).message.data();
  what.why = !what.removal
                 ? fmt::format("session {} is not saved: {}", id, why)
                 : fmt::format("the saved state of session {} is not removed: {}", id, why);
  bool is_new = true;
  {
    const MutexLock lock(mutex_);
    if (const auto it = unsaved_.find(id); it != unsaved_.end()) {
      is_new = it->second.why != what.why;
      what.delay = std::min(it->second.delay * 2, delay_max);
    }
    what.due = clock_.now().steady + what.delay;
    unsaved_.insert_or_assign(id, what);
    changed_.notify_all();
  }
  if (is_new) complain(what.why);
}

void SessionSaver::note_success(const std::string& id) {
  const MutexLock lock(mutex_);
  unsaved_.erase(id);
}

void SessionSaver::complain(const std::string& sentence) const {
  if (options_.trouble) options_.trouble(sentence);
}

std::string SessionSaver::trouble() const {
  if (store_.is_lost()) return "another server has taken the state folder";
  const MutexLock lock(mutex_);
  std::string first;
  std::size_t count = 0;
  for (const auto& [id, what] : unsaved_) {
    if (!what.is_its_own && ++count == 1) first = what.why;
  }
  return count <= 1 ? first : fmt::format("{}, and {} more", first, count - 1);
}

std::size_t SessionSaver::unsaved() const {
  const MutexLock lock(mutex_);
  return unsaved_.size();
}

void SessionSaver::work() {
  ReleasableMutexLock lock(mutex_);
  while (!closing_) {
    const SteadyTime now = clock_.now().steady;
    if (interval_due_ <= now) {
      interval_due_ = SteadyTime::max();
      const auto waiting = std::exchange(waiting_, {});
      lock.unlock();
      for (const auto& [id, weak] : waiting) {
        if (const auto session = weak.lock()) (void)save_now(session);
      }
      lock.lock();
      continue;
    }
    const auto next =
        std::ranges::min_element(unsaved_, {}, [](const auto& entry) { return entry.second.due; });
    if (next != unsaved_.end() && next->second.due <= now) {
      const std::string id = next->first;
      const Unsaved what = next->second;
      lock.unlock();
      retry(id, what);
      lock.lock();
      continue;
    }
    const SteadyTime due = next == unsaved_.end() ? SteadyTime::max() : next->second.due;
    changed_.wait_until(mutex_, clock_, std::min(interval_due_, due));
  }
}

// What is to be removed has an entry of its own, which no save settles.
void SessionSaver::note_saved(const std::string& id) {
  const MutexLock lock(mutex_);
  const auto it = unsaved_.find(id);
  if (it != unsaved_.end() && !it->second.removal) unsaved_.erase(it);
}

void SessionSaver::retry(const std::string& id, const Unsaved& what) {
  if (what.removal) {
    const Result<void> removed = store_.remove(id, *what.removal, what.live);
    if (removed) return note_success(id);
    return note_failure(id, what, removed.error());
  }
  const auto session = what.session.lock();
  // One that was closed has nothing to save; its removal has an entry of its own.
  if (!session || session->status() == Status::closed) return note_saved(id);
  (void)save_now(session);
}

}  // namespace cloche::session

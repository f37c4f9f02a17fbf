// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <algorithm>
#include <utility>

namespace cloche::session {

Session::Session(Facts facts, Twin state, SteadyTime deadline, Clock& clock)
    : clock_(clock),
      facts_(std::move(facts)),
      deadline_(deadline),
      expires_(facts_.expires),
      sandbox_(std::move(state.sandbox)),
      python_(std::move(state.python)),
      last_activity_{facts_.created, clock.now().steady} {}

Session::Session(StateStore::Found found, Loader loader, SteadyTime deadline, Clock& clock)
    : clock_(clock),
      facts_(std::move(found.facts)),
      deadline_(deadline),
      expires_(facts_.expires),
      counts_by_saved_(true),
      status_(found.chain.status),
      last_activity_(clock.now()),
      reloader_(loader),
      loader_(std::move(loader)),
      was_running_(found.chain.status == Status::running),
      chain_(std::move(found.chain)) {}

Status Session::status() const {
  const MutexLock lock(mutex_);
  return why_failed().empty() ? status_ : Status::failed;
}

std::string Session::why_failed() const {
  if (status_ == Status::closed || !sandbox_ || reloader_) return {};
  return sandbox_->why_ended();
}

WallTime Session::last_activity() const {
  const MutexLock lock(mutex_);
  return last_activity_.wall;
}

WallTime Session::expires() const {
  const MutexLock lock(mutex_);
  return expires_;
}

void Session::extend(WallTime expires, SteadyTime deadline) {
  const MutexLock lock(mutex_);
  expires_ = expires;
  deadline_ = deadline;
  counts_by_saved_ = false;
  last_activity_ = clock_.now();
}

// An hour at a time, for it may be set again.
bool Session::has_more_time() {
  constexpr std::chrono::hours look_again_after{1};
  const MutexLock lock(mutex_);
  const Moment now = clock_.now();
  if (!counts_by_saved_ || now.steady < deadline_ || now.wall >= expires_) return false;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(expires_ - now.wall);
  deadline_ = now.steady + std::min<std::chrono::nanoseconds>(left, look_again_after);
  return true;
}

void Session::watch_by(std::function<void(Sandbox& sandbox)> watcher) {
  watcher_ = std::move(watcher);
  if (const std::shared_ptr<Sandbox> there = sandbox()) watcher_(*there);
}

// It goes before the sandbox, whoever holds it last.
std::shared_ptr<PythonSession> python_in(std::shared_ptr<Sandbox> sandbox) {
  auto* python = new PythonSession(*sandbox);
  return {python, [held = std::move(sandbox)](PythonSession* gone) mutable {
            delete gone;
            held.reset();
          }};
}

Twin fork_with_python(Sandbox& sandbox, PythonSession* python) {
  if (python) {
    try {
      // It brings the fork of its sandbox with it.
      std::shared_ptr<PythonSession> twin = python->fork();
      return {std::shared_ptr<Sandbox>(twin, &twin->sandbox()), twin};
    } catch (const Error&) {
      // Something is executed in it: names that are half made must not be copied.
    }
  }
  return {sandbox.fork(), nullptr};
}

Session::Use::Use(std::shared_ptr<Session> session, std::shared_ptr<Sandbox> sandbox)
    : session_(std::move(session)), sandbox_(std::move(sandbox)) {}

Session::Use& Session::Use::operator=(Use&& other) noexcept {
  Use old(std::move(*this));
  session_ = std::move(other.session_);
  sandbox_ = std::move(other.sandbox_);
  return *this;
}

bool Session::Use::is_current() const {
  const MutexLock lock(session_->mutex_);
  return session_->status_ == Status::running && session_->sandbox_ == sandbox_ &&
         sandbox_->why_ended().empty();
}

std::shared_ptr<PythonSession> Session::Use::python() const {
  const MutexLock lock(session_->mutex_);
  const bool is_of_session = session_->sandbox_ == sandbox_;
  if (is_of_session && session_->python_) return session_->python_;
  auto made = python_in(sandbox_);
  if (is_of_session) session_->python_ = made;
  return made;
}

bool Session::Use::replace(std::shared_ptr<Sandbox> sandbox,
                           std::shared_ptr<PythonSession> python) const {
  if (session_->watcher_) session_->watcher_(*sandbox);
  {
    const MutexLock lock(session_->mutex_);
    if (session_->status_ != Status::running) return false;
    session_->sandbox_.swap(sandbox);
    session_->python_.swap(python);
    ++session_->origin_;
  }
  python.reset();
  if (sandbox) sandbox->cancel();
  return true;
}

Session::Use::~Use() {
  sandbox_.reset();
  if (session_) session_->release();
}

Session::Use Session::use(const std::shared_ptr<Session>& session) {
  Use use;  // lets go of the session after the lock
  ReleasableMutexLock lock(session->mutex_);
  if (session->status_ != Status::running || session->leaving_) return {};
  if (session->sandbox_ && !session->sandbox_->why_ended().empty()) {
    lock.unlock();
    session->let_go_of_ended();
    lock.lock();
    if (session->status_ != Status::running || session->leaving_ || !session->why_failed().empty())
      return {};
  }
  ++session->uses_;
  use.session_ = session;
  session->last_activity_ = session->clock_.now();
  if (!session->sandbox_) {
    lock.unlock();
    session->load();
    lock.lock();
    if (session->status_ != Status::running || !session->sandbox_) return {};
  }
  use.sandbox_ = session->sandbox_;
  return use;
}

void Session::let_go_of_ended() {
  const auto has_ended = [this]() REQUIRES(mutex_) {
    return reloader_ && sandbox_ && !sandbox_->why_ended().empty();
  };
  {
    const MutexLock lock(mutex_);  // alone: it is not waited for one that is being read
    if (!has_ended()) return;
  }
  std::shared_ptr<Sandbox> ended;
  std::shared_ptr<PythonSession> python;
  const MutexLock load_lock(load_mutex_);
  const MutexLock lock(mutex_);
  if (!has_ended()) return;
  ended = std::move(sandbox_);
  python = std::move(python_);
  ++origin_;
  was_running_ = true;
  loader_ = reloader_;
}

void Session::load() {
  const MutexLock load_lock(load_mutex_);
  if (!loader_ || unreadable_) return;
  auto loaded = loader_(*this);
  const MutexLock lock(mutex_);
  if (auto* problem = std::get_if<LoadProblem>(&loaded)) {
    unreadable_ = problem->for_good;
    trouble_ = std::move(problem->sentence);
    return;
  }
  loader_ = nullptr;
  trouble_.clear();
  if (status_ == Status::closed) return;
  auto& good = std::get<Loaded>(loaded);
  sandbox_ = std::move(good.state.sandbox);
  python_ = std::move(good.state.python);
  if (was_running_) restart_ = Restart{std::move(good.changed_packages)};
  if (watcher_) watcher_(*sandbox_);
}

std::optional<Session::Restart> Session::restart() const {
  const MutexLock lock(mutex_);
  return restart_;
}

void Session::restart_is_told() {
  const MutexLock lock(mutex_);
  restart_.reset();
}

std::shared_ptr<PythonSession> Session::made_python() const {
  const MutexLock lock(mutex_);
  return python_;
}

std::string Session::trouble() const {
  const MutexLock lock(mutex_);
  std::string why = why_failed();
  return why.empty() ? trouble_ : why;
}

void Session::release() {
  const MutexLock lock(mutex_);
  if (--uses_ == 0) unused_.notify_all();
  last_activity_ = clock_.now();
}

bool Session::is_leaving() const {
  const MutexLock lock(mutex_);
  return leaving_;
}

bool Session::has_left() const {
  const MutexLock lock(mutex_);
  return left_;
}

void Session::leave() {
  const MutexLock lock(mutex_);
  left_ = true;
}

void Session::stay() {
  const MutexLock lock(mutex_);
  leaving_ = false;
}

bool Session::begin_to_leave(SteadyTime deadline) {
  const MutexLock lock(mutex_);
  leaving_ = true;
  return unused_.wait_until(mutex_, deadline, [this]() REQUIRES(mutex_) { return uses_ == 0; });
}

std::shared_ptr<Sandbox> Session::sandbox() const {
  const MutexLock lock(mutex_);
  return sandbox_;
}

std::pair<std::shared_ptr<Sandbox>, std::uint64_t> Session::sandbox_and_origin() const {
  const MutexLock lock(mutex_);
  return {sandbox_, origin_};
}

void Session::touch() {
  const MutexLock lock(mutex_);
  last_activity_ = clock_.now();
}

bool Session::pause(const std::function<void()>& stopping) {
  std::uint64_t number = 0;
  // Not where it was resumed meanwhile, and maybe paused again.
  const auto is_ours = [&]() REQUIRES(mutex_) {
    return status_ == Status::paused && pauses_ == number;
  };
  let_go_of_ended();
  {
    const MutexLock lock(mutex_);
    if (status_ != Status::running || leaving_ || !why_failed().empty()) return false;
    status_ = Status::paused;
    number = ++pauses_;
    ++pausing_;
  }
  stopping();
  const MutexLock turn(turn_);
  std::shared_ptr<Sandbox> old;
  std::shared_ptr<PythonSession> python;
  {
    const MutexLock lock(mutex_);
    old = sandbox_;
    python = python_;
    last_activity_ = clock_.now();
    // There is nothing that runs in one that has not been read.
    if (!old || !is_ours()) {
      --pausing_;
      return true;
    }
  }
  // A fork has everything but the processes: those of the old one end with it.
  old->begin_to_leave();
  Twin rest;
  try {
    rest = fork_with_python(*old, python.get());
    if (watcher_) watcher_(*rest.sandbox);
  } catch (...) {
    old->stay();
    const MutexLock lock(mutex_);
    --pausing_;
    if (is_ours()) status_ = Status::running;
    throw;
  }
  bool leaves = false;
  {
    const MutexLock lock(mutex_);
    --pausing_;
    last_activity_ = clock_.now();
    leaves = is_ours();
    if (leaves) {
      sandbox_ = std::move(rest.sandbox);
      python_ = std::move(rest.python);
    }
  }
  leaves ? old->leave() : old->stay();
  return true;
}

bool Session::freeze(const std::function<void()>& stopping) {
  let_go_of_ended();
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    if (status_ != Status::running || leaving_ || !why_failed().empty()) return false;
    status_ = Status::paused;
    frozen_ = true;
    number = ++pauses_;
  }
  stopping();
  const MutexLock turn(turn_);
  std::shared_ptr<Sandbox> sandbox;
  {
    const MutexLock lock(mutex_);
    // Not where it was resumed meanwhile.
    if (frozen_ && pauses_ == number) sandbox = sandbox_;
  }
  try {
    if (sandbox) sandbox->freeze();
  } catch (...) {
    const MutexLock lock(mutex_);
    if (frozen_ && pauses_ == number) {
      frozen_ = false;
      if (status_ == Status::paused) status_ = Status::running;
    }
    throw;
  }
  touch();
  return true;
}

bool Session::is_frozen() const {
  const MutexLock lock(mutex_);
  return frozen_;
}

bool Session::is_pausing() const {
  const MutexLock lock(mutex_);
  return pausing_ != 0;
}

bool Session::resume() {
  {
    const MutexLock lock(mutex_);
    if (status_ != Status::paused || leaving_ || !why_failed().empty()) return false;
    if (!frozen_ && pausing_ == 0) {
      status_ = Status::running;
      last_activity_ = clock_.now();
      return true;
    }
    ++uses_;  // it does not leave meanwhile
  }
  struct Held {
    Session& session;
    ~Held() { session.release(); }
  };
  const Held held{*this};
  return resume_in_turn();
}

bool Session::resume_in_turn() {
  const MutexLock turn(turn_);
  std::shared_ptr<Sandbox> sandbox;
  {
    const MutexLock lock(mutex_);
    if (status_ != Status::paused) return false;
    sandbox = frozen_ ? sandbox_ : nullptr;
  }
  if (sandbox) sandbox->thaw();
  const MutexLock lock(mutex_);
  if (status_ != Status::paused) return false;
  frozen_ = false;
  status_ = Status::running;
  return true;
}

SteadyTime Session::due(std::chrono::milliseconds idle_timeout) const {
  const MutexLock lock(mutex_);
  if (idle_timeout.count() == 0 || status_ == Status::paused ||
      facts_.lifetime == Lifetime::of_time)
    return deadline_;
  const SteadyTime active = uses_ > 0 ? clock_.now().steady : last_activity_.steady;
  return std::min(deadline_, active + idle_timeout);
}

bool Session::close(const std::function<void()>& stopping) {
  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<PythonSession> python;
  {
    const MutexLock lock(mutex_);
    if (status_ == Status::closed) return false;
    status_ = Status::closed;
    sandbox = std::move(sandbox_);
    python = std::move(python_);
  }
  stopping();
  if (sandbox) sandbox->leave();
  return true;
}

}  // namespace cloche::session

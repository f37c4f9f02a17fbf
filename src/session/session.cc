// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

namespace cloche::session {

Session::Session(Facts facts, std::unique_ptr<Sandbox> sandbox, SteadyTime deadline)
    : facts_(std::move(facts)),
      deadline_(deadline),
      sandbox_(std::move(sandbox)),
      last_activity_(facts_.created),
      last_activity_steady_(std::chrono::steady_clock::now()) {}

Session::Session(StateStore::Found found, Loader loader, SteadyTime deadline)
    : facts_(std::move(found.facts)),
      deadline_(deadline),
      status_(found.chain.status),
      last_activity_(std::chrono::system_clock::now()),
      last_activity_steady_(std::chrono::steady_clock::now()),
      loader_(std::move(loader)),
      chain_(std::move(found.chain)) {}

Status Session::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

WallTime Session::last_activity() const {
  const std::lock_guard lock(mutex_);
  return last_activity_;
}

Session::Use::Use(std::shared_ptr<Session> session, std::shared_ptr<Sandbox> sandbox)
    : session_(std::move(session)), sandbox_(std::move(sandbox)) {}

Session::Use& Session::Use::operator=(Use&& other) noexcept {
  Use old(std::move(*this));
  session_ = std::move(other.session_);
  sandbox_ = std::move(other.sandbox_);
  return *this;
}

Session::Use::~Use() {
  sandbox_.reset();
  if (session_) session_->release();
}

Session::Use Session::use(const std::shared_ptr<Session>& session) {
  std::unique_lock lock(session->mutex_);
  if (session->status_ != Status::running) return {};
  ++session->uses_;
  session->last_activity_ = std::chrono::system_clock::now();
  session->last_activity_steady_ = std::chrono::steady_clock::now();
  if (!session->sandbox_) {
    lock.unlock();
    session->load();
    lock.lock();
    if (session->status_ != Status::running || !session->sandbox_) {
      lock.unlock();
      session->release();
      return {};
    }
  }
  return {session, session->sandbox_};
}

void Session::load() {
  const std::lock_guard load_lock(load_mutex_);
  if (!loader_ || unreadable_) return;
  auto loaded = loader_(*this);
  const std::lock_guard lock(mutex_);
  if (auto* problem = std::get_if<LoadProblem>(&loaded)) {
    unreadable_ = problem->for_good;
    trouble_ = std::move(problem->sentence);
    return;
  }
  loader_ = nullptr;
  trouble_.clear();
  if (status_ != Status::closed) sandbox_ = std::get<std::unique_ptr<Sandbox>>(std::move(loaded));
}

std::string Session::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Session::release() {
  const std::lock_guard lock(mutex_);
  --uses_;
  last_activity_ = std::chrono::system_clock::now();
  last_activity_steady_ = std::chrono::steady_clock::now();
}

std::shared_ptr<Sandbox> Session::sandbox() const {
  const std::lock_guard lock(mutex_);
  return sandbox_;
}

void Session::touch() {
  const std::lock_guard lock(mutex_);
  last_activity_ = std::chrono::system_clock::now();
  last_activity_steady_ = std::chrono::steady_clock::now();
}

bool Session::pause(const std::function<void()>& stopping) {
  std::shared_ptr<Sandbox> old;
  {
    const std::lock_guard lock(mutex_);
    if (status_ != Status::running) return false;
    status_ = Status::paused;
    old = sandbox_;
  }
  stopping();
  if (!old) {  // it has not been read, so nothing runs in it
    touch();
    return true;
  }
  // A fork has everything but the processes: those of the old one end with it.
  std::shared_ptr<Sandbox> rest = old->fork();
  {
    const std::lock_guard lock(mutex_);
    if (status_ == Status::paused) sandbox_ = std::move(rest);
    last_activity_ = std::chrono::system_clock::now();
    last_activity_steady_ = std::chrono::steady_clock::now();
  }
  old->cancel();
  return true;
}

bool Session::resume() {
  const std::lock_guard lock(mutex_);
  if (status_ != Status::paused) return false;
  status_ = Status::running;
  last_activity_ = std::chrono::system_clock::now();
  last_activity_steady_ = std::chrono::steady_clock::now();
  return true;
}

SteadyTime Session::due(std::chrono::milliseconds idle_timeout) const {
  const std::lock_guard lock(mutex_);
  if (idle_timeout.count() == 0 || status_ == Status::paused) return deadline_;
  const SteadyTime active = uses_ > 0 ? std::chrono::steady_clock::now() : last_activity_steady_;
  return std::min(deadline_, active + idle_timeout);
}

bool Session::close(const std::function<void()>& stopping) {
  std::shared_ptr<Sandbox> sandbox;
  {
    const std::lock_guard lock(mutex_);
    if (status_ == Status::closed) return false;
    status_ = Status::closed;
    sandbox = std::move(sandbox_);
  }
  stopping();
  if (sandbox) sandbox->cancel();
  return true;
}

}  // namespace cloche::session

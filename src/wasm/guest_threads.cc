// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_threads.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/background_thread.h"
#include "base/check.h"
#include "base/thread_name.h"
#include "wasm/engine.h"
#include "wasm/run_here.h"

namespace cloche::wasm {
namespace {

// Signals to the process are for the threads of the doors; a guest's thread takes only its own
// faults.
void block_signals(pthread_attr_t* attributes) {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&blocked, fault);
  }
  CLOCHE_CHECK(pthread_attr_setsigmask_np(attributes, &blocked) == 0);
}

}  // namespace

struct GuestThreads::Worker {
  GuestThreads* pool;
  pthread_t thread;
  std::list<std::unique_ptr<Worker>>::iterator place;
  Condition wake;
  std::function<void()> work;  // guarded by the pool's mutex until taken
  int lowered = 0;             // steps; its own thread's
};

thread_local GuestThreads::Worker* GuestThreads::own_worker = nullptr;

GuestThreads::GuestThreads(std::size_t max_idle) : max_idle_(max_idle) {}

GuestThreads::~GuestThreads() {
  ReleasableMutexLock lock(mutex_);
  stopping_ = true;
  for (Worker* worker : idle_) worker->wake.notify_one();
  while (!workers_.empty() || !ended_.empty()) {
    reap();
    if (!workers_.empty() && ended_.empty()) changed_.wait(mutex_);
  }
  starter_ends_ = true;
  start_changed_.notify_all();
  lock.unlock();
  if (starter_.joinable()) starter_.join();
}

Result<void> GuestThreads::run(std::function<void()> work, RunHere* here) {
  if (here != nullptr && here->take(work)) return {};
  const MutexLock lock(mutex_);
  CLOCHE_CHECK(!stopping_ || !workers_.empty());
  reap();
  if (!idle_.empty()) {
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.work = std::move(work);
    worker.wake.notify_one();
    return {};
  }
  return start(std::move(work));
}

// With the lock held, so that the new thread finds itself in the list.
Result<void> GuestThreads::start(std::function<void()> work) {
  const auto place = workers_.insert(workers_.end(), std::make_unique<Worker>());
  Worker& worker = **place;
  worker.pool = this;
  worker.place = place;
  worker.work = std::move(work);
  const Result<void> created = create(worker);
  if (!created) workers_.erase(place);
  return created;
}

// By a thread that has the priority for it; the lock is released while that is another one.
Result<void> GuestThreads::create(Worker& worker) {
  const bool lowered = is_lowered();
  if (!lowered && !starter_.joinable()) begin_starter();
  if (!lowered || !starter_.joinable()) return create_here(worker);
  Start start{&worker, std::nullopt};
  starts_.push_back(&start);
  start_changed_.notify_all();
  start_changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return start.result.has_value(); });
  return *start.result;
}

void GuestThreads::begin_starter() {
  try {
    starter_ = background_thread(with_name("cloche-starter", [this] { serve_starts(); }));
  } catch (const std::system_error&) {
    // Then threads are made by whoever wants them, at whatever priority.
  }
}

void GuestThreads::serve_starts() noexcept {
  const MutexLock lock(mutex_);
  for (;;) {
    start_changed_.wait(mutex_,
                        [&]() REQUIRES(mutex_) { return starter_ends_ || !starts_.empty(); });
    if (starts_.empty()) return;
    Start& start = *starts_.front();
    starts_.pop_front();
    start.result = create_here(*start.worker);
    start_changed_.notify_all();
  }
}

void GuestThreads::lower_priority(int steps) noexcept {
  if (own_worker == nullptr || own_worker->lowered >= steps) return;
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (now == -1 && errno != 0) return;
  const int lowest = 19;
  if (setpriority(PRIO_PROCESS, 0, std::min(now - own_worker->lowered + steps, lowest)) == 0)
    own_worker->lowered = steps;
}

bool GuestThreads::is_lowered() noexcept {
  return own_worker != nullptr && own_worker->lowered > 0;
}

Result<void> GuestThreads::create_here(Worker& worker) {
  pthread_attr_t attributes;
  CLOCHE_CHECK(pthread_attr_init(&attributes) == 0);
  CLOCHE_CHECK(pthread_attr_setstacksize(&attributes, guest_thread_stack_bytes) == 0);
  block_signals(&attributes);
  const int failed = pthread_create(&worker.thread, &attributes, worker_main, &worker);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return Errno::again;
  return {};
}

void* GuestThreads::worker_main(void* argument) noexcept {
  auto& worker = *static_cast<Worker*>(argument);
  own_worker = &worker;
  name_thread("cloche-guest");
  worker.pool->serve(worker);
  return nullptr;
}

void GuestThreads::serve(Worker& worker) noexcept {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    std::function<void()> work = std::move(worker.work);
    worker.work = nullptr;
    lock.unlock();
    work();
    work = nullptr;  // what it captured goes here, not under the lock
    lock.lock();
    if (stopping_ || worker.lowered > 0 || idle_.size() >= max_idle_) break;
    idle_.push_back(&worker);
    worker.wake.wait(mutex_, [&]() REQUIRES(mutex_) { return stopping_ || worker.work; });
    if (!worker.work) {
      std::erase(idle_, &worker);
      break;
    }
  }
  ended_.splice(ended_.end(), workers_, worker.place);
  changed_.notify_all();
}

// Joins the threads that ended. They are past their last use of the pool.
void GuestThreads::reap() {
  if (ended_.empty()) return;
  std::list<std::unique_ptr<Worker>> ended;
  ended.swap(ended_);
  const MutexUnlocked unlocked(mutex_);
  for (const auto& worker : ended) pthread_join(worker->thread, nullptr);
}

std::size_t GuestThreads::idle_count() const {
  const MutexLock lock(mutex_);
  return idle_.size();
}

std::size_t GuestThreads::thread_count() const {
  const MutexLock lock(mutex_);
  return workers_.size();
}

}  // namespace cloche::wasm

// SPDX-License-Identifier: Apache-2.0
#include "doors/http/loops.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <new>

#include "base/thread_name.h"

namespace cloche::http {
namespace {

// A turn is long when it lasts from one look to the next.
constexpr std::chrono::milliseconds look_interval{1};
constexpr int quiet_looks = 100;  // then the watchman sleeps
constexpr std::chrono::seconds spare_patience{5};

thread_local bool lost_its_loop = false;

}  // namespace

Loop::Turn::Turn(Loop& loop) : loop_(loop), number_(loop.turn_.fetch_add(1) + 1) {
  if (!loop_.loops_.awake_) loop_.loops_.wake_watchman();
}

bool Loop::Turn::finish() {
  if (finished_) return kept_;
  finished_ = true;
  std::uint64_t number = number_;
  kept_ = loop_.turn_.compare_exchange_strong(number, number_ + 1);
  if (!kept_) lost_its_loop = true;
  return kept_;
}

void Loop::drive() {
  lost_its_loop = false;
  for (bool goes_on = true; goes_on && !lost_its_loop;) {
    try {
      goes_on = context_.run_one() > 0;
    } catch (const std::bad_alloc&) {
      // Whose turn it was has lost its handler, and ends as a connection does that nobody serves.
    }
  }
  // What this thread's last handler started is for the new driver, which may be waiting already.
  if (lost_its_loop) boost::asio::post(context_, [] {});
}

Loops::Loops(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) loops_.emplace_back(*this);
}

Loops::~Loops() { stop(); }

void Loops::start() {
  watchman_ = std::thread(with_name("cloche-watchman", [this] { watch(); }));
  const MutexLock lock(mutex_);
  for (Loop& loop : loops_) {
    add_thread();
    waiting_.push_back(&loop);
  }
}

void Loops::stop() {
  for (Loop& loop : loops_) loop.context_.stop();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    spare_changed_.notify_all();
    watch_changed_.notify_all();
  }
  if (watchman_.joinable()) watchman_.join();
  group_.wait();
}

std::size_t Loops::threads() const {
  const MutexLock lock(mutex_);
  return threads_;
}

// Throws std::system_error.
void Loops::add_thread() {
  // It waits for the lock.
  group_.start(with_name("cloche-http", [this] { serve(); }));
  ++threads_;
  ++spare_;
}

void Loops::serve() {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    spare_changed_.wait_for(mutex_, spare_patience,
                            [this]() REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    --spare_;
    if (stopping_ || waiting_.empty()) break;
    Loop& loop = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    loop.drive();
    lock.lock();
    ++spare_;
  }
  --threads_;
}

// Only when there is a thread for it: otherwise the loop waits for the end of its turn.
void Loops::hand_over(Loop& loop, std::uint64_t turn) {
  if (spare_ <= waiting_.size()) {
    try {
      add_thread();
    } catch (const std::exception&) {
      return;
    }
  }
  if (!loop.turn_.compare_exchange_strong(turn, turn + 1)) return;
  waiting_.push_back(&loop);
  spare_changed_.notify_one();
}

void Loops::wake_watchman() {
  const MutexLock lock(mutex_);
  if (awake_) return;
  awake_ = true;
  watch_changed_.notify_one();
}

// True when something has happened since the last look.
bool Loops::look() {
  bool news = false;
  for (Loop& loop : loops_) {
    std::uint64_t turn = loop.turn_;
    if (turn != loop.seen_) {
      loop.seen_ = turn;
      news = true;
    } else if (turn % 2 == 1) {
      news = true;
      hand_over(loop, turn);
    }
  }
  return news;
}

void Loops::watch() {
  const MutexLock lock(mutex_);
  int quiet = 0;
  while (!stopping_) {
    quiet = look() ? 0 : quiet + 1;
    if (quiet < quiet_looks) {
      watch_changed_.wait_for(mutex_, look_interval,
                              [this]() REQUIRES(mutex_) { return stopping_; });
      continue;
    }
    // A turn that begins now either finds the watchman asleep, and wakes him, or is seen here.
    awake_ = false;
    if (look()) {
      awake_ = true;
    } else {
      watch_changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stopping_ || awake_; });
    }
    quiet = 0;
  }
}

}  // namespace cloche::http

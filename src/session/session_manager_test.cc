// SPDX-License-Identifier: Apache-2.0
// When sessions end, by a clock that the test moves: no test here waits for time to pass.
#include "session/session_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock_testing.h"
#include "cloche/folder_watch.h"
#include "session/saved_state_testing.h"

namespace cloche::session {
namespace {

using namespace std::chrono_literals;
using SessionPtr = std::shared_ptr<Session>;

class SessionTimes : public ::testing::Test {
 protected:
  std::unique_ptr<SessionManager> start(ManagerOptions options = {}) {
    options.clock = &clock_;
    options.audit = [this](Event event, const Session&) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    };
    options.saved = [this](const SaveEvent& event) {
      const std::lock_guard lock(mutex_);
      ++saves_[event.result];
      changed_.notify_all();
    };
    return std::make_unique<SessionManager>(bare_engine(), std::move(options));
  }
  static SessionPtr create(SessionManager& manager, const SessionRequest& request = {}) {
    auto made = manager.create(request);
    EXPECT_TRUE(std::holds_alternative<SessionPtr>(made));
    return std::get<SessionPtr>(std::move(made));
  }
  static bool is_there(SessionManager& manager, const SessionPtr& session) {
    return manager.find_any(session->facts().id) != nullptr;
  }
  // Waits until it has happened.
  void expect(Event event) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, 60s, [&] { return std::ranges::count(events_, event) > 0; }));
  }
  void expect(SaveEvent::Result result, int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return saves_[result] >= count; }));
  }
  // Moves time by what lies between two tries at the most, until there have been so many. When the
  // next one is due is known only some time after one has failed.
  void move_until(SaveEvent::Result result, int count) {
    std::unique_lock lock(mutex_);
    for (int moves = 0; saves_[result] < count && moves < 6000; ++moves) {
      clock_.advance(30s);
      changed_.wait_for(lock, 10ms);
    }
    EXPECT_GE(saves_[result], count);
  }
  bool has_happened(Event event) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count(events_, event) > 0;
  }

  ManualClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  std::map<SaveEvent::Result, int> saves_;
};

TEST_F(SessionTimes, ASessionEndsWhenItsTimeIsOver) {
  const auto manager = start();
  const SessionPtr session = create(*manager, {.ttl = 1h});
  const SessionPtr other = create(*manager);
  EXPECT_EQ(session->expires(), session->facts().created + 1h);
  clock_.advance(1h - 1ms);
  EXPECT_TRUE(is_there(*manager, session));
  clock_.advance(1ms);
  EXPECT_FALSE(is_there(*manager, session));
  expect(Event::expired);
  EXPECT_EQ(session->status(), Status::closed);
  EXPECT_TRUE(is_there(*manager, other));
  EXPECT_EQ(manager->count(), 1U);
}

// The deadline of `waits` has come, and who is asked about it waits until the test lets him go on.
class SessionsThatWait : public SessionTimes {
 protected:
  std::unique_ptr<SessionManager> start_asking() {
    ManagerOptions options;
    options.came_due = [this](const SessionPtr&) {
      std::unique_lock lock(mutex_);
      ++asked_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return lives_on_.has_value(); });
      return *lives_on_;
    };
    return start(std::move(options));
  }
  SessionPtr create_due(SessionManager& manager) {
    const SessionPtr session = create(manager, {.lifetime = Lifetime::of_time});
    manager.set_deadline(session, clock_.now().steady);
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return asked_ > 0; }));
    return session;
  }
  void go_on(bool lives_on) {
    const std::lock_guard lock(mutex_);
    lives_on_ = lives_on;
    changed_.notify_all();
  }

  int asked_ = 0;
  std::optional<bool> lives_on_;
};

TEST_F(SessionsThatWait, KeepNoOtherFromItsEnd) {
  const auto manager = start_asking();
  const SessionPtr waits = create_due(*manager);
  const SessionPtr other = create(*manager, {.ttl = 1h});
  clock_.advance(1h);
  expect(Event::expired);
  EXPECT_EQ(other->status(), Status::closed);
  EXPECT_EQ(waits->status(), Status::running);
  go_on(false);
  manager->end();
  EXPECT_EQ(waits->status(), Status::closed);
}

TEST_F(SessionsThatWait, LiveOnWhereTheyAreGivenTimeMeanwhile) {
  const auto manager = start_asking();
  const SessionPtr waits = create_due(*manager);
  manager->set_deadline(waits, clock_.now().steady + 1h);
  go_on(false);
  clock_.advance(30min);
  EXPECT_TRUE(is_there(*manager, waits));
  clock_.advance(30min);
  expect(Event::idled);
  EXPECT_EQ(waits->status(), Status::closed);
}

TEST_F(SessionsThatWait, AreAskedOnceAtATime) {
  const auto manager = start_asking();
  const SessionPtr waits = create_due(*manager);
  for (int i = 0; i < 20; ++i) manager->set_deadline(waits, clock_.now().steady);
  const SessionPtr other = create(*manager, {.ttl = 1h});
  clock_.advance(1h);
  expect(Event::expired);
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(asked_, 1);
  }
  manager->set_deadline(waits, SteadyTime::max());
  go_on(true);
  manager->end();
  EXPECT_EQ(waits->status(), Status::closed);
}

TEST_F(SessionTimes, NobodyWaitsForASandboxThatIsFrozenLate) {
  const auto manager = start();
  const SessionPtr session = create(*manager);
  const SessionPtr other = create(*manager);
  // Who tells of a change has the sandbox, for which a freeze waits.
  std::promise<void> told;
  std::promise<void> go_on;
  Files& files = Session::use(session)->files();
  bool is_told = false;
  const auto watch =
      files.watch("/workspace", WatchDepth::folder, [&, waits = go_on.get_future().share()] {
        if (!std::exchange(is_told, true)) told.set_value();
        waits.wait();
      });
  ASSERT_TRUE(watch);
  auto write = std::async(std::launch::async, [&] { return files.write("/workspace/f", "").ok(); });
  told.get_future().wait();
  auto pause = std::async(std::launch::async, [&] {
    return manager->pause(session, SessionManager::Processes::stop).done;
  });
  auto look = std::async(std::launch::async, [&] {
    while (session->status() == Status::running) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) {
      (void)manager->find_any(session->facts().id);
      (void)manager->find_any(other->facts().id);
    }
  });
  EXPECT_EQ(look.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(pause.wait_for(0s), std::future_status::timeout);
  go_on.set_value();
  EXPECT_TRUE(pause.get());
  (void)write.get();
}

// Whatever a pause comes between.
TEST_F(SessionTimes, WhatWasAnsweredBeforeAPauseIsThereAfterIt) {
  const auto manager = start();
  const SessionPtr session = create(*manager);
  std::atomic<bool> is_over = false;
  const auto write = [&](const std::string& prefix) {
    std::vector<std::string> written;
    for (int n = 0; n < 20'000 && !is_over; ++n) {
      const std::string name = prefix + std::to_string(n);
      const Session::Use use = Session::use(session);
      if (use && use->files().write(name, "x")) written.push_back(name);
    }
    return written;
  };
  auto one = std::async(std::launch::async, write, "a");
  auto other = std::async(std::launch::async, write, "b");
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(manager->pause(session));
    EXPECT_TRUE(manager->resume(session));
  }
  is_over = true;
  const Session::Use use = Session::use(session);
  for (auto* writer : {&one, &other}) {
    for (const std::string& name : writer->get()) EXPECT_TRUE(use->files().stat(name)) << name;
  }
}

// Of the owner "a"; nobody else has a limit here.
class SessionLimits : public SessionTimes {
 protected:
  std::unique_ptr<SessionManager> start_limited(std::size_t limit) {
    ManagerOptions options;
    options.cell = 2;
    options.session_limit_per_owner = limit;
    options.count_elsewhere = [this](const std::string& owner, const Rank& rank) {
      EXPECT_EQ(owner, "a");
      ranks_.push_back(rank);
      return elsewhere_;
    };
    return start(std::move(options));
  }
  static RefusalReason refusal(SessionManager& manager) {
    auto made = manager.create({.owner = "a"});
    EXPECT_TRUE(std::holds_alternative<Refusal>(made));
    return std::get<Refusal>(made).reason;
  }

  CountElsewhere elsewhere_;
  std::vector<Rank> ranks_;
};

TEST_F(SessionLimits, CountWhatIsElsewhere) {
  const auto manager = start_limited(3);
  (void)create(*manager, {.owner = "a"});
  elsewhere_.count = 2;
  EXPECT_EQ(refusal(*manager), RefusalReason::owner_limit);
  elsewhere_.count = SIZE_MAX;
  EXPECT_EQ(refusal(*manager), RefusalReason::owner_limit);
  elsewhere_.count = 1;
  const SessionPtr session = create(*manager, {.owner = "a"});
  ASSERT_EQ(ranks_.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(ranks_, std::less<>()));
  EXPECT_EQ(ranks_[0].cell, 2);
  // The place of one that is there is counted once, and that of one that was refused not at all.
  EXPECT_EQ(manager->count_of("a", {1000, 1}), 2U);
  EXPECT_EQ(manager->count_of("b", {1000, 1}), 0U);
  elsewhere_.count = 0;
  (void)create(*manager, {.owner = "a"});
  EXPECT_GT(ranks_.back().number, 1000U) << "what has been heard of is before";
  const std::size_t asked = ranks_.size();
  EXPECT_EQ(refusal(*manager), RefusalReason::owner_limit);
  EXPECT_EQ(ranks_.size(), asked) << "there is nothing to ask where it is full here";
}

TEST_F(SessionLimits, WhatCannotBeToldIsNoRoom) {
  const auto manager = start_limited(3);
  elsewhere_.trouble = "cell 1 does not say";
  auto made = manager->create({.owner = "a"});
  ASSERT_TRUE(std::holds_alternative<Refusal>(made));
  EXPECT_EQ(std::get<Refusal>(made).reason, RefusalReason::owner_unsure);
  EXPECT_EQ(std::get<Refusal>(made).sentence, "cell 1 does not say");
  elsewhere_.trouble.clear();
  for (int i = 0; i < 3; ++i) (void)create(*manager, {.owner = "a"});
}

TEST_F(SessionLimits, ForksAreAllThereOrNone) {
  const auto manager = start_limited(5);
  const SessionPtr session = create(*manager, {.owner = "a"});
  elsewhere_.count = 1;
  auto refused = manager->fork(session, 4);
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).reason, RefusalReason::owner_limit);
  EXPECT_EQ(manager->count(), 1U);
  const auto forks = manager->fork(session, 3);
  ASSERT_TRUE(std::holds_alternative<std::vector<SessionPtr>>(forks));
  EXPECT_EQ(manager->count_of("a", {1000, 1}), 4U);
  EXPECT_EQ(refusal(*manager), RefusalReason::owner_limit);
}

TEST_F(SessionTimes, ALongerLifeCountsFromNow) {
  const auto manager = start();
  const SessionPtr session = create(*manager, {.ttl = 1h});
  clock_.advance(50min);
  EXPECT_TRUE(manager->extend(session, 1h));
  clock_.advance(59min);
  EXPECT_TRUE(is_there(*manager, session));
  clock_.advance(1min);
  expect(Event::expired);
  const SessionPtr forever = create(*manager, {.ttl = 1h});
  EXPECT_TRUE(manager->extend(forever, 0s));
  clock_.advance(24h * 365);
  EXPECT_TRUE(is_there(*manager, forever));
}

TEST_F(SessionTimes, AForkLivesNoLongerThanWhatItIsAForkOf) {
  const auto manager = start();
  const SessionPtr session = create(*manager, {.ttl = 1h});
  clock_.advance(20min);
  const auto forks = manager->fork(session, 1);
  const SessionPtr fork = std::get<std::vector<SessionPtr>>(forks).at(0);
  EXPECT_EQ(fork->expires(), session->expires());
}

TEST_F(SessionTimes, OneThatNobodyUsesEndsAndSaysThatItWasIdle) {
  const auto manager = start({.idle_timeout = 10min});
  const SessionPtr session = create(*manager);
  clock_.advance(9min);
  EXPECT_TRUE(Session::use(session));
  clock_.advance(9min);
  EXPECT_TRUE(is_there(*manager, session));
  clock_.advance(1min);
  EXPECT_FALSE(is_there(*manager, session));
  expect(Event::idled);
  EXPECT_FALSE(has_happened(Event::expired));
}

TEST_F(SessionTimes, AUseInProgressIsNoIdleness) {
  const auto manager = start({.idle_timeout = 10min});
  const SessionPtr session = create(*manager);
  {
    const Session::Use use = Session::use(session);
    clock_.advance(24h);
    EXPECT_TRUE(is_there(*manager, session));
  }
  clock_.advance(9min);
  EXPECT_TRUE(is_there(*manager, session));
  clock_.advance(1min);
  expect(Event::idled);
}

TEST_F(SessionTimes, APausedOneIsNotIdleUntilItIsResumed) {
  const auto manager = start({.idle_timeout = 10min});
  const SessionPtr session = create(*manager);
  EXPECT_TRUE(manager->pause(session));
  clock_.advance(24h);
  EXPECT_TRUE(is_there(*manager, session));
  EXPECT_TRUE(manager->resume(session));
  clock_.advance(10min);
  expect(Event::idled);
}

// Whoever resumes it while it is being paused has it as it is, and a pause that has lost its place
// puts nothing there.
TEST_F(SessionTimes, APauseThatWasOvertakenChangesNothing) {
  const auto manager = start();
  const SessionPtr session = create(*manager);
  const auto nothing = [] {};
  EXPECT_TRUE(session->pause([&] {
    EXPECT_TRUE(session->resume());
    EXPECT_TRUE(Session::use(session)->files().write("f", "written"));
    EXPECT_TRUE(session->pause(nothing));
    EXPECT_TRUE(session->resume());
    EXPECT_TRUE(Session::use(session)->files().write("f", "again"));
    EXPECT_TRUE(session->pause(nothing));
  }));
  EXPECT_TRUE(session->resume());
  EXPECT_EQ(*Session::use(session)->files().read("f"), "again");
}

TEST_F(SessionTimes, OneThatCannotBePausedRunsOn) {
  const auto manager = start();
  const SessionPtr session = create(*manager);
  {
    Files& files = Session::use(session)->files(Account::root);
    ASSERT_TRUE(files.rename("/dev", "/before"));
    ASSERT_TRUE(files.write("/dev", "no folder"));
  }
  const Change paused = manager->pause(session);
  EXPECT_FALSE(paused);
  EXPECT_FALSE(paused.saved);
  EXPECT_EQ(session->status(), Status::running);
  EXPECT_TRUE(Session::use(session)->files().write("f", "on"));
}

TEST_F(SessionTimes, OneOfTimeEndsByItsDeadlineAlone) {
  const auto manager = start({.idle_timeout = 10min});
  const SessionPtr session = create(*manager, {.lifetime = Lifetime::of_time});
  manager->set_deadline(session, clock_.now().steady + 1h);
  clock_.advance(59min);
  EXPECT_TRUE(is_there(*manager, session));
  manager->set_deadline(session, clock_.now().steady + 1h);
  clock_.advance(59min);
  EXPECT_TRUE(is_there(*manager, session));
  clock_.advance(1min);
  EXPECT_FALSE(is_there(*manager, session));
}

TEST_F(SessionTimes, TimeGoesOnWhileTheServerIsDown) {
  const TestFolder folder;
  const ManagerOptions options{.state_folder = folder.path().string()};
  auto manager = start(options);
  const std::string hour = create(*manager, {.ttl = 1h})->facts().id;
  const std::string day = create(*manager, {.ttl = 24h})->facts().id;
  manager.reset();
  clock_.advance(2h);
  manager = start(options);
  EXPECT_EQ(manager->find_any(hour), nullptr);
  ASSERT_NE(manager->find_any(day), nullptr);
  clock_.advance(22h);
  EXPECT_EQ(manager->find_any(day), nullptr);
  expect(Event::expired);
}

TEST_F(SessionTimes, WhatIsNotSavedIsTriedAgainUntilItIs) {
  const TestFolder folder;
  FaultyFiles files;
  const auto manager = start({.state_folder = folder.path().string(), .state_files = &files});
  const SessionPtr session = create(*manager);
  files.fail_all(Errno::nospc);
  {
    const Session::Use use = Session::use(session);
    ASSERT_TRUE(use->files().write("f", "text"));
  }
  EXPECT_EQ(manager->save(session).error(), Errno::nospc);
  EXPECT_NE(manager->save_trouble(), "");
  for (int failed = 2; failed < 8; ++failed) move_until(SaveEvent::Result::failed, failed);
  files.heal();
  move_until(SaveEvent::Result::saved, 2);
  EXPECT_TRUE(manager->save(session));
  EXPECT_EQ(manager->save_trouble(), "");
}

TEST_F(SessionTimes, WhatIsDoneWithoutAnAnswerIsSavedSoon) {
  const TestFolder folder;
  const auto manager = start({.state_folder = folder.path().string()});
  const SessionPtr session = create(*manager);
  expect(SaveEvent::Result::saved, 1);
  for (int saves = 2; saves < 4; ++saves) {
    ASSERT_TRUE(Session::use(session)->files().write("f", std::to_string(saves)));
    manager->save_soon(session);
    clock_.advance(10s);
    expect(SaveEvent::Result::saved, saves);
  }
}

TEST_F(SessionTimes, AnIntervalIsTheTimeThatACrashMayCost) {
  const TestFolder folder;
  const auto manager = start({.state_folder = folder.path().string(),
                              .save_policy = SavePolicy::interval,
                              .save_interval = 1min});
  const SessionPtr session = create(*manager);
  expect(SaveEvent::Result::saved, 1);
  {
    const Session::Use use = Session::use(session);
    ASSERT_TRUE(use->files().write("f", "text"));
  }
  EXPECT_TRUE(manager->save(session));
  clock_.advance(1min);
  expect(SaveEvent::Result::saved, 2);
}

}  // namespace
}  // namespace cloche::session

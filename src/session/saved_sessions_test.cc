// SPDX-License-Identifier: Apache-2.0
// Sessions with a state folder: what is answered survives, what cannot be saved is told, nothing is
// read before it is used.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "base/clock_testing.h"
#include "session/saved_state_testing.h"
#include "session/session_manager.h"

namespace cloche::session {
namespace {

using SessionPtr = std::shared_ptr<Session>;

class SavedSessions : public ::testing::Test {
 protected:
  std::unique_ptr<SessionManager> start(ManagerOptions options = {}) {
    options.state_folder = folder_.path().string();
    options.state_files = &files_;
    options.trouble = [this](const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      troubles_.push_back(sentence);
    };
    options.saved = [this](const SaveEvent& event) {
      const std::lock_guard lock(mutex_);
      ++events_[event.result];
      changed_.notify_all();
    };
    options.audit = [this](Event event, const Session&) {
      const std::lock_guard lock(mutex_);
      restored_ += event == Event::restored ? 1 : 0;
    };
    return std::make_unique<SessionManager>(bare_engine(), std::move(options));
  }
  SessionPtr create(SessionManager& manager) {
    const auto made = manager.create({.owner = "me"});
    EXPECT_TRUE(std::holds_alternative<SessionPtr>(made));
    return std::get<SessionPtr>(made);
  }
  static void put(const SessionPtr& session, const std::string& text) {
    const Session::Use use = Session::use(session);
    ASSERT_TRUE(use);
    ASSERT_TRUE(use->files().write("f", text));
  }
  static std::string get(const SessionPtr& session) {
    const Session::Use use = Session::use(session);
    return use ? *use->files().read("f") : "-";
  }
  // As kill -9 leaves the folder.
  void crash(std::unique_ptr<SessionManager> manager) {
    files_.fail_at(0, FaultyFiles::Fault::crash);
    manager.reset();
    files_.heal();
  }
  // A session of an hour, two hours ago.
  void leave_one_that_is_over(ManualClock& clock) {
    auto manager = start({.clock = &clock});
    ASSERT_TRUE(std::holds_alternative<SessionPtr>(
        manager->create({.owner = "me", .ttl = std::chrono::hours(1)})));
    crash(std::move(manager));
    clock.advance(std::chrono::hours(2));
  }

  FaultyFiles files_;
  TestFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> troubles_;
  std::map<SaveEvent::Result, int> events_;
  int restored_ = 0;
};

TEST_F(SavedSessions, AreReadAtTheirFirstUse) {
  auto manager = start();
  const std::string used = create(*manager)->facts().id;
  const std::string unused = create(*manager)->facts().id;
  put(manager->find(used, "me"), "kept");
  ASSERT_TRUE(manager->save(manager->find(used, "me")));
  crash(std::move(manager));
  manager = start();
  EXPECT_EQ(manager->list("me", 10, 0).total, 2U);
  EXPECT_EQ(restored_, 0);
  EXPECT_EQ(get(manager->find(used, "me")), "kept");
  EXPECT_EQ(get(manager->find(used, "me")), "kept");
  EXPECT_EQ(restored_, 1);
  EXPECT_TRUE(manager->close(unused, "me"));
  manager = nullptr;
  manager = start();
  EXPECT_EQ(manager->list("me", 10, 0).total, 1U);
  EXPECT_EQ(restored_, 1);
}

constexpr std::chrono::hours years{5 * 366 * 24};

// Until what others do shows.
void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::yield();
}

// A clock without a battery may be years ahead until somebody sets it.
TEST_F(SavedSessions, AClockThatIsWrongAtTheStartEndsNone) {
  ManualClock clock;
  auto manager = start({.clock = &clock});
  const auto made = manager->create({.owner = "me", .ttl = std::chrono::hours(1)});
  ASSERT_TRUE(std::holds_alternative<SessionPtr>(made));
  const std::string id = std::get<SessionPtr>(made)->facts().id;
  put(std::get<SessionPtr>(made), "kept");
  ASSERT_TRUE(manager->save(std::get<SessionPtr>(made)));
  crash(std::move(manager));
  clock.set_by(years);
  manager = start({.clock = &clock});
  EXPECT_EQ(manager->find(id, "me"), nullptr) << "it is over, as far as one can say";
  EXPECT_EQ(manager->count(), 0U);
  clock.advance(std::chrono::minutes(20));
  clock.set_by(-years);
  clock.advance(std::chrono::seconds(6));  // looked at each five
  wait_until([&] { return manager->count() == 1; });
  EXPECT_EQ(get(manager->find(id, "me")), "kept");
  EXPECT_EQ(troubles_.size(), 1U);
  clock.advance(std::chrono::minutes(40));
  wait_until([&] { return manager->count() == 0; });
  manager.reset();
  EXPECT_EQ(folder_.names(), std::set<std::string>{"lock"});
}

TEST_F(SavedSessions, WhatIsOverAtTheStartIsRemovedWhenItsHourHasPassed) {
  ManualClock clock;
  leave_one_that_is_over(clock);
  const auto manager = start({.clock = &clock});
  clock.advance(std::chrono::minutes(59));
  EXPECT_EQ(folder_.names().size(), 2U);
  clock.advance(std::chrono::minutes(1));
  wait_until([&] { return folder_.names().size() == 1; });
  EXPECT_EQ(manager->count(), 0U);
}

TEST_F(SavedSessions, WhatIsOverIsRemovedAtOnceWhereThatIsAsked) {
  ManualClock clock;
  leave_one_that_is_over(clock);
  const auto manager = start({.overdue_kept = std::chrono::seconds(0), .clock = &clock});
  EXPECT_EQ(folder_.names(), std::set<std::string>{"lock"});
}

TEST_F(SavedSessions, OneThatWasFoundByAClockThatWasAheadHasAllOfItsTime) {
  ManualClock clock;
  auto manager = start({.clock = &clock});
  const auto made = manager->create({.owner = "me", .ttl = std::chrono::hours(2)});
  ASSERT_TRUE(std::holds_alternative<SessionPtr>(made));
  const std::string id = std::get<SessionPtr>(made)->facts().id;
  crash(std::move(manager));
  clock.set_by(std::chrono::minutes(90));
  manager = start({.clock = &clock});
  clock.set_by(-std::chrono::minutes(90));
  clock.advance(std::chrono::minutes(31));
  wait_until([&] { return manager->find(id, "me") != nullptr; });
  clock.advance(std::chrono::minutes(60));
  wait_until([&] { return manager->find(id, "me") != nullptr; });
  clock.advance(std::chrono::minutes(29));
  wait_until([&] { return manager->count() == 0; });
}

TEST_F(SavedSessions, PauseAndResumeNeedNoReading) {
  auto manager = start();
  const std::string id = create(*manager)->facts().id;
  put(manager->find(id, "me"), "kept");
  ASSERT_TRUE(manager->pause(manager->find(id, "me")).saved);
  crash(std::move(manager));
  manager = start();
  EXPECT_FALSE(Session::use(manager->find(id, "me")));
  ASSERT_TRUE(manager->resume(manager->find(id, "me")).saved);
  ASSERT_TRUE(manager->pause(manager->find(id, "me")).saved);
  crash(std::move(manager));
  manager = start();
  EXPECT_EQ(manager->find(id, "me")->status(), Status::paused);
  EXPECT_EQ(restored_, 0);
  ASSERT_TRUE(manager->resume(manager->find(id, "me")).saved);
  EXPECT_EQ(get(manager->find(id, "me")), "kept");
}

TEST_F(SavedSessions, WhatCannotBeSavedIsToldUntilItIsSaved) {
  auto manager = start();
  const SessionPtr session = create(*manager);
  EXPECT_EQ(manager->save_trouble(), "");
  put(session, "first");
  files_.fail_all(Errno::nospc);
  EXPECT_EQ(manager->save(session).error(), Errno::nospc);
  EXPECT_EQ(manager->unsaved(), 1U);
  EXPECT_NE(manager->save_trouble().find("No space left on device"), std::string::npos);
  const auto refused = manager->create({.owner = "me"});
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).save_error, Errno::nospc);
  EXPECT_EQ(manager->list("me", 10, 0).total, 1U);
  EXPECT_FALSE(troubles_.empty());
  files_.heal();
  {
    // Nobody asks: it is tried again.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return events_[SaveEvent::Result::saved] >= 2; });
  }
  while (!manager->save_trouble().empty()) std::this_thread::yield();
  EXPECT_GE(events_[SaveEvent::Result::failed], 2);
  const std::string id = session->facts().id;
  crash(std::move(manager));
  manager = start();
  EXPECT_EQ(get(manager->find(id, "me")), "first");
}

TEST_F(SavedSessions, NothingIsWrittenWhereNothingHasChanged) {
  auto manager = start();
  const SessionPtr session = create(*manager);
  put(session, "text");
  ASSERT_TRUE(manager->save(session));
  const std::size_t before = files_.calls();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(get(session), "text");
    ASSERT_TRUE(manager->save(session));
  }
  EXPECT_EQ(files_.calls(), before);
  EXPECT_EQ(events_[SaveEvent::Result::unchanged], 10);
}

TEST_F(SavedSessions, ADeletionThatFailsIsToldAndMadeGood) {
  auto manager = start();
  const std::string id = create(*manager)->facts().id;
  files_.fail_all(Errno::io);
  const Change closed = manager->close(id, "me");
  EXPECT_TRUE(closed);
  EXPECT_EQ(closed.saved.error(), Errno::io);
  EXPECT_NE(manager->save_trouble().find("not removed"), std::string::npos);
  EXPECT_FALSE(manager->close(id, "me"));
  files_.heal();
  while (!manager->save_trouble().empty()) std::this_thread::yield();
  EXPECT_EQ(folder_.names(), std::set<std::string>{"lock"});
}

// A change that comes after it, as a command's that it has ended, is no success of the deletion.
TEST_F(SavedSessions, ADeletionThatFailsIsNotForgotten) {
  auto manager = start();
  const SessionPtr session = create(*manager);
  files_.fail_all(Errno::io);
  EXPECT_TRUE(manager->close(session->facts().id, "me"));
  EXPECT_TRUE(manager->save(session));
  EXPECT_NE(manager->save_trouble().find("not removed"), std::string::npos);
}

// Its files may have the numbers of those that were there before.
TEST_F(SavedSessions, AnotherSandboxInItsPlaceIsSavedAsItIs) {
  for (const bool is_folder : {true, false}) {
    auto manager = start();
    const SessionPtr session = create(*manager);
    const std::string id = session->facts().id;
    put(session, std::string(1 << 20, '.'));
    ASSERT_TRUE(manager->save(session));
    {
      const Session::Use use = Session::use(session);
      std::shared_ptr<Sandbox> other = bare_engine().create({});
      ASSERT_TRUE(is_folder ? other->files().make_directory("other")
                            : other->files().write("other", "new"));
      ASSERT_TRUE(use.replace(std::move(other), nullptr));
    }
    ASSERT_TRUE(manager->save(session));
    crash(std::move(manager));
    manager = start();
    const Session::Use use = Session::use(manager->find(id, "me"));
    ASSERT_TRUE(use);
    EXPECT_EQ(use->files().stat("f").error(), Errno::noent);
    EXPECT_EQ(use->files().stat("other")->kind, is_folder ? FileKind::directory : FileKind::file);
  }
}

TEST_F(SavedSessions, WhatEndsAsItsKeyIsGivenUpIsSaved) {
  auto manager = start({.cell = 1});
  const SessionPtr session = create(*manager);
  put(session, "begun");
  std::optional<Session::Use> use = Session::use(session);
  ASSERT_TRUE(*use);
  // It does not end by itself in its time, which is none; what it has done until it does is there.
  std::thread ending([&] {
    while (!session->is_leaving()) std::this_thread::yield();
    EXPECT_TRUE((*use)->files().write("f", "ended"));
    use.reset();
  });
  EXPECT_TRUE(manager->give_up_key(1, std::chrono::milliseconds(0)));
  ending.join();
  EXPECT_TRUE(session->has_left());
  EXPECT_TRUE(manager->save(session)) << "its answer comes later, and tells of what is saved";
  manager.reset();
  manager = start({.cell = 1});
  EXPECT_EQ(get(manager->find(session->facts().id, "me")), "ended");
}

TEST_F(SavedSessions, WhoWaitsIsToldBeforeWhatRunsIsEndedForItsKey) {
  std::optional<Session::Use> use;
  auto manager = start({.cell = 1, .stopping = [&](const Session&) {
                          if (!use) return;
                          EXPECT_TRUE((*use)->files().write("f", "told"));
                          use.reset();
                        }});
  const std::string id = create(*manager)->facts().id;
  use = Session::use(manager->find(id, "me"));
  ASSERT_TRUE(*use);
  EXPECT_TRUE(manager->give_up_key(1, std::chrono::milliseconds(0)));
  manager = nullptr;
  manager = start({.cell = 1});
  EXPECT_EQ(get(manager->find(id, "me")), "told");
}

TEST_F(SavedSessions, ACellThatStartsAnewTakesBackTheKeysThatItHad) {
  auto manager = start({.cell = 2});
  const std::string id = create(*manager)->facts().id;
  manager.reset();
  manager = start({.cell = 1});
  manager->take_back_keys();
  EXPECT_EQ(manager->keys(), std::vector<CellKey>{1}) << "it had no other";
  ASSERT_TRUE(manager->take_key(2));
  crash(std::move(manager));
  manager = start({.cell = 1});
  manager->take_back_keys();
  EXPECT_EQ(manager->keys(), (std::vector<CellKey>{1, 2}));
  EXPECT_TRUE(manager->find(id, "me"));
  ASSERT_TRUE(manager->give_up_key(2, std::chrono::milliseconds(0)));
  {
    const auto other = start({.cell = 3});
    ASSERT_TRUE(other->take_key(2));
  }
  manager.reset();
  manager = start({.cell = 1});
  manager->take_back_keys();
  EXPECT_EQ(manager->keys(), std::vector<CellKey>{1}) << "somebody else has taken it since";
}

TEST_F(SavedSessions, AServerWhoseFolderIsTakenLetsGoOfItsSessions) {
  auto manager = start({.cell = 1});
  const SessionPtr session = create(*manager);
  const std::string id = session->facts().id;
  manager->let_go_of_taken_keys();
  EXPECT_EQ(manager->find(id, "me"), session) << "nobody has taken it";
  {
    const Session::Use use = Session::use(session);
    ASSERT_TRUE(use);
    folder_.write("1/lock", "generation 2 of somebody else\n");
    manager->let_go_of_taken_keys();
    EXPECT_EQ(manager->save(session).error(), Errno::stale) << "what is under way is told";
  }
  EXPECT_EQ(manager->find(id, "me"), nullptr);
  EXPECT_EQ(manager->other_cell(id), std::optional<CellKey>(1));
  EXPECT_TRUE(manager->has_given_up(1));
  EXPECT_TRUE(manager->keys().empty());
  EXPECT_FALSE(Session::use(session));
  const auto refused = manager->create({.owner = "me"});
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).reason, RefusalReason::ending);
  EXPECT_EQ(manager->count(), 0U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / ("1/" + id + ".session"))) << "it is another's now";
}

TEST_F(SavedSessions, ThePolicySaysWhen) {
  auto manager = start({.save_policy = SavePolicy::pause});
  const std::string id = create(*manager)->facts().id;
  put(manager->find(id, "me"), "answered");
  ASSERT_TRUE(manager->save(manager->find(id, "me")));
  EXPECT_EQ(events_[SaveEvent::Result::saved], 1);
  manager = nullptr;  // a proper end loses nothing
  manager = start({.save_policy = SavePolicy::interval, .save_interval = std::chrono::seconds(1)});
  EXPECT_EQ(get(manager->find(id, "me")), "answered");
  put(manager->find(id, "me"), "later");
  const int before = events_[SaveEvent::Result::saved];
  ASSERT_TRUE(manager->save(manager->find(id, "me")));
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return events_[SaveEvent::Result::saved] > before; });
  }
  crash(std::move(manager));
  manager = start();
  EXPECT_EQ(get(manager->find(id, "me")), "later");
}

TEST_F(SavedSessions, ADamagedOneHarmsNoOther) {
  auto manager = start();
  const std::string good = create(*manager)->facts().id;
  const std::string bad = create(*manager)->facts().id;
  for (const std::string& id : {good, bad}) {
    put(manager->find(id, "me"), std::string(10'000, 'x'));
    ASSERT_TRUE(manager->save(manager->find(id, "me")));
  }
  crash(std::move(manager));
  std::string bytes = folder_.read(bad + ".session");
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  folder_.write(bad + ".session", bytes);
  manager = start();
  const SessionPtr damaged = manager->find(bad, "me");
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(Session::use(damaged));
  EXPECT_FALSE(Session::use(damaged));
  EXPECT_NE(damaged->trouble().find("damaged"), std::string::npos);
  EXPECT_EQ(troubles_.size(), 1U);
  EXPECT_EQ(get(manager->find(good, "me")), std::string(10'000, 'x'));
  EXPECT_TRUE(folder_.names().contains(bad + ".session.damaged"));
  manager = nullptr;
  manager = start();
  EXPECT_EQ(manager->find(bad, "me"), nullptr);
  EXPECT_TRUE(manager->is_unreadable(bad));
  EXPECT_FALSE(manager->is_unreadable(good));
}

// What a session must have, as a door asks for it.
SessionRequest wish_of(const SessionManager& manager, std::string_view text) {
  const Json wish = Json::parse(text);
  return {.owner = "me",
          .wish = write_json(wish),
          .sandbox = manager.options_for(wish, sandbox::Beyond::refused)};
}

ManagerOptions with_grant(std::string_view flag, const std::string& text) {
  ManagerOptions options;
  options.grants.push_back(sandbox::grant_of(*sandbox::find_option(flag), flag, text));
  return options;
}

TEST_F(SavedSessions, AWishIsKeptWithTheSession) {
  constexpr const char* wish = R"({"limits":{"processes":100,"cpus":1},"env":{"A":"1"},
      "network":{"allow":["a.example"],"secrets":{"KEY":{"value":"v","hosts":["a.example"]}}}})";
  ManagerOptions options = with_grant("processes", "100");
  options.sandbox.network.allow = {"*.example"};
  auto manager = start(options);
  const auto session = std::get<SessionPtr>(manager->create(wish_of(*manager, wish)));
  const auto forks = std::get<std::vector<SessionPtr>>(manager->fork(session, 1));
  const std::vector<std::string> ids{session->facts().id, forks[0]->facts().id};
  const std::string placeholder = *Session::use(session)->environment("KEY");
  for (const SessionPtr& one : {session, forks[0]}) {
    put(one, "text");
    ASSERT_TRUE(manager->save(one));
  }
  crash(std::move(manager));
  manager = start(options);
  for (const std::string& id : ids) {
    const Session::Use use = Session::use(manager->find(id, "me"));
    ASSERT_TRUE(use);
    EXPECT_EQ(use->options().process_limit, 100U);
    EXPECT_EQ(use->options().cpus, 1U);
    EXPECT_EQ(use->network_rules(), std::vector<std::string>{"a.example"});
    EXPECT_EQ(use->environment("A"), "1");
    // It stands for the secret in this sandbox, and the old one for nothing.
    EXPECT_TRUE(use->environment("KEY"));
    EXPECT_NE(use->environment("KEY"), placeholder);
    EXPECT_EQ(*use->files().read("f"), "text");
  }
}

TEST_F(SavedSessions, WhatIsNotAllowedAnyMoreIsNotThereAfterARestart) {
  ManagerOptions options = with_grant("processes", "100");
  options.sandbox.network.allow = {"*.example"};
  auto manager = start(options);
  const auto session = std::get<SessionPtr>(manager->create(wish_of(
      *manager, R"({"limits":{"processes":100,"cpus":1},"network":["a.example","b.example"]})")));
  const std::string id = session->facts().id;
  manager = nullptr;
  ManagerOptions stricter;
  stricter.sandbox.network.allow = {"b.example"};
  manager = start(stricter);
  const Session::Use use = Session::use(manager->find(id, "me"));
  ASSERT_TRUE(use);
  EXPECT_EQ(use->options().process_limit, SandboxOptions().process_limit);
  EXPECT_EQ(use->options().cpus, 1U);
  EXPECT_EQ(use->network_rules(), std::vector<std::string>{"b.example"});
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(SavedSessions, AWishIsNotLongerThanCanBeKept) {
  const auto manager = start();
  const Json wish{{"env", {{"A", std::string(1 << 20, 'x')}}}};
  EXPECT_THROW((void)manager->options_for(wish, sandbox::Beyond::refused), Error);
  EXPECT_THROW(
      (void)manager->options_for(Json{{"limits", {{"cpus", 99}}}}, sandbox::Beyond::refused),
      Error);
}

TEST_F(SavedSessions, OneThatCannotBeReadNowCanBeReadLater) {
  auto manager = start();
  const std::string id = create(*manager)->facts().id;
  put(manager->find(id, "me"), "text");
  ASSERT_TRUE(manager->save(manager->find(id, "me")));
  manager = nullptr;
  manager = start();
  const std::filesystem::path file = folder_ / (id + ".session");
  std::filesystem::rename(file, folder_ / "elsewhere");
  EXPECT_FALSE(Session::use(manager->find(id, "me")));
  EXPECT_NE(manager->find(id, "me")->trouble(), "");
  std::filesystem::rename(folder_ / "elsewhere", file);
  EXPECT_EQ(get(manager->find(id, "me")), "text");
  EXPECT_EQ(manager->find(id, "me")->trouble(), "");
}

}  // namespace
}  // namespace cloche::session

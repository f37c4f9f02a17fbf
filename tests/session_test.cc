// SPDX-License-Identifier: Apache-2.0
// Sessions: limits, lists, lifetimes, what runs when one is closed.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "cloche/checkpoint.h"
#include "sandbox_testing.h"
#include "session/session_manager.h"

namespace cloche::testing {
namespace {

using session::Event;
using session::Session;
using session::SessionManager;
using SessionPtr = std::shared_ptr<Session>;

SessionPtr must_create(SessionManager& manager, const session::SessionRequest& request = {}) {
  auto made = manager.create(request);
  EXPECT_TRUE(std::holds_alternative<SessionPtr>(made));
  return std::get<SessionPtr>(made);
}

std::optional<session::RefusalReason> why_not(SessionManager& manager, const std::string& owner) {
  const auto made = manager.create({.owner = owner});
  const auto* refusal = std::get_if<session::Refusal>(&made);
  return refusal ? std::optional(refusal->reason) : std::nullopt;
}

TEST(Sessions, AreFoundByTheirOwner) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager, {.owner = "a"});
  EXPECT_EQ(manager.find(session->facts().id, "a"), session);
  EXPECT_EQ(manager.find(session->facts().id, "b"), nullptr);
  EXPECT_EQ(manager.find("nonesuch", "a"), nullptr);
  EXPECT_FALSE(manager.close(session->facts().id, "b"));
  EXPECT_TRUE(manager.close(session->facts().id, "a"));
  EXPECT_FALSE(manager.close(session->facts().id, "a"));
  EXPECT_FALSE(Session::use(session));
}

TEST(Sessions, HaveLimits) {
  SessionManager manager(engine(), {.session_limit = 3, .session_limit_per_owner = 2});
  must_create(manager, {.owner = "a"});
  const SessionPtr second = must_create(manager, {.owner = "a"});
  EXPECT_EQ(why_not(manager, "a"), session::RefusalReason::owner_limit);
  EXPECT_DOUBLE_EQ(manager.room().headroom(), 1 - 2.0 / 3);
  must_create(manager, {.owner = "b"});
  EXPECT_EQ(why_not(manager, "b"), session::RefusalReason::session_limit);
  EXPECT_EQ(manager.room().headroom(), 0);
  EXPECT_TRUE(manager.close(second->facts().id, "a"));
  must_create(manager, {.owner = "b"});
}

// By who had it in use before.
TEST(Sessions, NothingBeginsInOneThatIsClosed) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  const Session::Use use = Session::use(session);
  const auto python = use.python();
  EXPECT_TRUE(manager.close(session->facts().id, ""));
  const auto time = std::chrono::milliseconds(60'000);
  for (const ShellState shell : {ShellState::fresh, ShellState::kept}) {
    const RunResult result = use->run({.script = "sleep 1000", .shell = shell, .timeout = time});
    EXPECT_EQ(result.status, RunStatus::killed);
  }
  EXPECT_EQ(use->run_python("while True: pass", {.timeout = time}).status, RunStatus::killed);
  EXPECT_EQ(python->execute("while True: pass", {.limits = {.timeout = time}}).status,
            ExecuteStatus::cancelled);
  LiveRunOptions live;
  live.command = {.script = "sleep 1000", .timeout = time};
  EXPECT_EQ(use->start(std::move(live))->wait().status, RunStatus::killed);
  EXPECT_EQ(use->files().write("late", "").error(), Errno::canceled);
}

// Whoever comes last decides, also where a session is resumed before it stands still.
TEST(Sessions, AFreezeThatWasOvertakenStopsNothing) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  const auto nothing = [] {};
  (void)Session::use(session)->run(
      {.script = "(while :; do echo x >> ticks; sleep 0.01; done) > /dev/null 2>&1 &"});
  const auto goes_on = [&] {
    return Session::use(session)->run(
        {.script = "n=$(cat ticks | wc -l); until [ $(cat ticks | wc -l) -gt $n ]; do :; done",
         .timeout = std::chrono::milliseconds(60'000)});
  };
  EXPECT_TRUE(session->freeze([&] { EXPECT_TRUE(session->resume()); }));
  EXPECT_EQ(session->status(), session::Status::running);
  EXPECT_FALSE(session->is_frozen());
  EXPECT_EQ(goes_on().exit_code, 0);
  EXPECT_TRUE(session->freeze([&] {
    EXPECT_TRUE(session->resume());
    EXPECT_TRUE(session->freeze(nothing));
  }));
  EXPECT_TRUE(session->is_frozen());
  EXPECT_TRUE(session->resume());
  EXPECT_EQ(goes_on().exit_code, 0);
}

// What runs from then on is nothing that the pause ends.
TEST(Sessions, OneThatIsResumedWhileItIsBeingPausedRunsWhatComes) {
  std::promise<void> begun, released;
  const HostCommand hold{.name = "hold", .description = {}, .handler = [&](CommandCall&) {
                           begun.set_value();
                           released.get_future().wait();
                           return 0;
                         }};
  SessionManager manager(engine(), {.sandbox = {.commands = {hold}}});
  const SessionPtr session = must_create(manager);
  const auto run = [&](std::string_view script) {
    return std::async(std::launch::async, [&session, script] {
      return Session::use(session)->run({.script = std::string(script), .shell = ShellState::kept});
    });
  };
  auto held = run("hold");
  begun.get_future().wait();
  auto paused = std::async(std::launch::async, [&] { return session->pause([] {}); });
  while (!session->is_pausing()) std::this_thread::yield();
  auto resumed = std::async(std::launch::async, [&] {
    EXPECT_TRUE(session->resume());
    return run("echo on").get();
  });
  // It may have come before the pause had its turn; otherwise it waits for that.
  (void)resumed.wait_for(std::chrono::milliseconds(100));
  released.set_value();
  EXPECT_EQ(resumed.get().stdout_data, "on\n");
  EXPECT_TRUE(paused.get());
  (void)held.get();
}

TEST(Sessions, AreNotMadeByAServerThatIsAboutToEnd) {
  std::vector<session::RefusalReason> told;
  SessionManager manager(
      engine(), {.refused = [&](session::RefusalReason reason) { told.push_back(reason); }});
  const SessionPtr session = must_create(manager);
  manager.stop_creating();
  EXPECT_EQ(why_not(manager, ""), session::RefusalReason::ending);
  EXPECT_EQ(told, std::vector{session::RefusalReason::ending});
  EXPECT_EQ(manager.room().headroom(), 0);
  EXPECT_TRUE(Session::use(session));
}

TEST(Sessions, OfACellHaveItsKeyInTheirIds) {
  SessionManager manager(engine(), {.cell = 3});
  const SessionPtr session = must_create(manager);
  EXPECT_EQ(session::cell_of(session->facts().id), session::CellKey{3});
  EXPECT_EQ(manager.other_cell(session->facts().id), std::nullopt);
  EXPECT_EQ(manager.other_cell(session::new_session_id(4)), session::CellKey{4});
  EXPECT_EQ(manager.other_cell("nonesuch"), std::nullopt);
  SessionManager alone(engine(), {});
  EXPECT_EQ(alone.other_cell(session->facts().id), std::nullopt);
}

TEST(Sessions, AreListedNewestFirst) {
  SessionManager manager(engine(), {});
  std::vector<std::string> ids;
  ids.reserve(5);
  for (int i = 0; i < 5; ++i) ids.push_back(must_create(manager, {.owner = "a"})->facts().id);
  must_create(manager, {.owner = "b"});
  auto page = manager.list("a", 2, 1);
  EXPECT_EQ(page.total, 5U);
  ASSERT_EQ(page.sessions.size(), 2U);
  EXPECT_EQ(page.sessions[0]->facts().id, ids[3]);
  EXPECT_EQ(page.sessions[1]->facts().id, ids[2]);
  EXPECT_TRUE(manager.list("a", 10, 5).sessions.empty());
  EXPECT_EQ(manager.list("c", 10, 0).total, 0U);
}

TEST(Sessions, ClosingOneEndsWhatRunsInIt) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  std::promise<void> begun;
  auto result = std::async(std::launch::async, [&] {
    const Session::Use use = Session::use(session);
    return use->run({.script = "echo begun; sleep 1000",
                     .output = [&, told = false](Stream, std::string_view) mutable {
                       if (!std::exchange(told, true)) begun.set_value();
                     }});
  });
  begun.get_future().wait();
  EXPECT_TRUE(manager.close(session->facts().id, ""));
  EXPECT_EQ(result.get().status, RunStatus::killed);
}

TEST(Sessions, EndWhenTheyAreIdleOrOld) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> gone;
  SessionManager manager(engine(), {.idle_timeout = std::chrono::milliseconds(50),
                                    .audit = [&](Event event, const Session& session) {
                                      if (event != Event::idled) return;
                                      const std::lock_guard lock(mutex);
                                      gone.insert(session.facts().id);
                                      changed.notify_all();
                                    }});
  // On a busy machine one may be idle for too long before it is used.
  SessionPtr used;
  Session::Use use;
  while (!use) {
    used = must_create(manager);
    use = Session::use(used);
  }
  const SessionPtr unused = must_create(manager);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return gone.contains(unused->facts().id); });
  lock.unlock();
  EXPECT_EQ(unused->status(), session::Status::closed);
  EXPECT_EQ(manager.find(unused->facts().id, ""), nullptr);
  EXPECT_EQ(manager.find(used->facts().id, ""), used);
}

TEST(Sessions, APausedOneKeepsItsFilesAndInterpretersAndNoProcess) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  Session::use(session)->run({.script = "echo kept > f; sleep 1000 &"});
  Session::use(session)->run({.script = "cd /tmp; word=kept", .shell = ShellState::kept});
  Session::use(session)->run_python("number = 41");
  EXPECT_TRUE(manager.pause(session));
  EXPECT_FALSE(manager.pause(session));
  EXPECT_FALSE(Session::use(session));
  EXPECT_TRUE(manager.resume(session));
  EXPECT_FALSE(manager.resume(session));
  EXPECT_EQ(Session::use(session)->run({.script = "cat f; pgrep sleep"}).stdout_data, "kept\n");
  const RunResult shell =
      Session::use(session)->run({.script = "pwd; echo $word", .shell = ShellState::kept});
  EXPECT_EQ(shell.stdout_data, "/tmp\nkept\n");
  EXPECT_EQ(Session::use(session)->run_python("print(number + 1)").stdout_data, "42\n");
}

TEST(Sessions, APauseEndsRunsOfTheKeptShellAndWaitsForNone) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  Session::use(session)->run({.script = "word=kept", .shell = ShellState::kept});
  std::promise<void> begun;
  RunOptions options{.script = "word=lost; echo begun; sleep 60", .shell = ShellState::kept};
  options.output = [&](Stream, std::string_view) { begun.set_value(); };
  auto run =
      std::async(std::launch::async, [&] { return Session::use(session)->run(options).status; });
  begun.get_future().wait();
  // By a use of before the pause, which is asked for the next run whenever that is.
  auto next = std::async(std::launch::async, [&, use = Session::use(session)] {
    return use->run({.script = "sleep 60", .shell = ShellState::kept}).status;
  });
  EXPECT_TRUE(manager.pause(session));
  EXPECT_EQ(run.get(), RunStatus::killed);
  EXPECT_EQ(next.get(), RunStatus::killed);
  EXPECT_TRUE(manager.resume(session));
  const RunResult shell =
      Session::use(session)->run({.script = "echo $word", .shell = ShellState::kept});
  EXPECT_EQ(shell.stdout_data, "kept\n");
}

TEST(Sessions, APauseEndsAnExecutionOfPythonAndWaitsForNone) {
  SessionManager manager(engine(), {});
  const SessionPtr session = must_create(manager);
  auto run = std::async(std::launch::async, [&] {
    return Session::use(session)
        ->run_python("open('begun', 'w')\nimport time\ntime.sleep(1000)",
                     {.timeout = std::chrono::milliseconds(0)})
        .status;
  });
  while (!Session::use(session)->files().stat("begun")) std::this_thread::yield();
  EXPECT_TRUE(manager.pause(session));
  EXPECT_EQ(run.get(), RunStatus::killed);
  EXPECT_TRUE(manager.resume(session));
  EXPECT_EQ(Session::use(session)->run_python("print(1)").stdout_data, "1\n");
}

TEST(Sessions, ASaveWaitsForTheKeptShellNoLongerThanItMay) {
  const auto sandbox = make_sandbox();
  std::promise<void> begun;
  std::stop_source stop;
  RunOptions options{.script = "echo begun; sleep 60", .shell = ShellState::kept};
  options.output = [&](Stream, std::string_view) { begun.set_value(); };
  options.stop = stop.get_token();
  auto run = std::async(std::launch::async, [&] { return sandbox->run(options).status; });
  begun.get_future().wait();
  const Checkpoint now(*sandbox, {.time = std::chrono::milliseconds(1)});
  EXPECT_FALSE(now.shell_problem().empty());
  stop.request_stop();
  EXPECT_EQ(run.get(), RunStatus::killed) << "it was waited for";
}

TEST(Sessions, TenThousandAreListedInOrder) {
  SessionManager manager(engine(), {.session_limit = 10'000});
  for (int i = 0; i < 10'000; ++i) must_create(manager);
  std::set<std::string> seen;
  for (std::size_t offset = 0; offset < 10'000; offset += 100) {
    for (const SessionPtr& session : manager.list("", 100, offset).sessions)
      seen.insert(session->facts().id);
  }
  EXPECT_EQ(seen.size(), 10'000U);
  // Those that go leave the others in their order.
  const auto before = manager.list("", 100, 5000).sessions;
  for (const std::size_t i : {0, 1, 50, 98}) EXPECT_TRUE(manager.close(before[i]->facts().id, ""));
  const auto after = manager.list("", 96, 5000).sessions;
  ASSERT_EQ(after.size(), 96U);
  EXPECT_EQ(after[0], before[2]);
  EXPECT_EQ(after[48], before[51]);
  EXPECT_EQ(after[95], before[99]);
}

}  // namespace
}  // namespace cloche::testing

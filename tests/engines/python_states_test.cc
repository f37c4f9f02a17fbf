// SPDX-License-Identifier: Apache-2.0
// Python sessions: their names, saved, restored and forked.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>

#include "cloche/python_session.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class PythonStates : public PythonOnEachEngine {};

constexpr std::string_view definitions = R"(
import dataclasses, enum, math
from functools import lru_cache
class Base:
    unit = 2
    def twice(self, x): return x * self.unit
class Derived(Base):
    def twice(self, x): return super().twice(x) + 1
@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
class Color(enum.Enum):
    RED = 1
    def shout(self): return self.name + '!'
def counter():
    n = 10
    def step(by=1):
        nonlocal n
        n += by
        return n
    return step
def fact(n): return 1 if n < 2 else n * fact(n - 1)
square = lambda x: x * x
@lru_cache
def cached(x): return x
step = counter(); step()
nothing = None
shared = [1]; alias = shared
d, p, c = Derived(), Point(1), Color.RED
)";
constexpr std::string_view question =
    "alias.append(2)\n"
    "[d.twice(2), p, c.shout(), step(5), fact(5), square(3), cached(7), nothing, shared, math.pi > "
    "3, isinstance(d, Base)]";
constexpr std::string_view answer =
    "[5, Point(x=1, y=0), 'RED!', 16, 120, 9, 7, None, [1, 2], True, True]";

TEST_P(PythonStates, GoToAnotherSession) {
  PythonSession session = new_session();
  (void)printed(session, definitions);
  const auto state = session.snapshot_state();
  ASSERT_TRUE(state) << state.error().sentence();
  EXPECT_EQ(value_of(session, question), answer);
  PythonSession other = new_session();
  (void)printed(other, "mine = 1");
  const auto restored = other.restore_state(state->bytes);
  ASSERT_TRUE(restored) << restored.error().sentence();
  EXPECT_EQ(value_of(other, question), answer);
  EXPECT_EQ(value_of(other, "mine"), "1");
  ASSERT_TRUE(other.clear_state());
  EXPECT_EQ(other.execute("mine").error->type, "NameError");
  // Again, from what was restored.
  ASSERT_TRUE(session.restore_state(session.snapshot_state()->bytes));
  EXPECT_EQ(value_of(session, "c is Color.RED, fact(4)"), "(True, 24)");
}

TEST_P(PythonStates, NameWhatCannotGo) {
  PythonSession session = new_session();
  (void)printed(session, "good = 1\nfile = open('f', 'w')\ngenerator = (i for i in 'ab')");
  const auto refused = session.snapshot_state();
  EXPECT_FALSE(refused);
  EXPECT_THAT(refused.error().sentence(), HasSubstr("file cannot be saved"));
  EXPECT_THAT(refused.error().sentence(), HasSubstr("generator cannot be saved"));
  const auto state =
      session.snapshot_state({.on_unpicklable = SnapshotOptions::OnUnpicklable::leave_out});
  ASSERT_TRUE(state) << state.error().sentence();
  ASSERT_EQ(state->left_out.size(), 2U);
  EXPECT_EQ(state->left_out[0].name, "file");
  PythonSession other = new_session();
  ASSERT_TRUE(other.restore_state(state->bytes));
  EXPECT_EQ(value_of(other, "good"), "1");
  (void)printed(session, "del file, generator\nlarge = 'x' * 1000");
  const auto small = session.snapshot_state({.max_bytes = 500});
  EXPECT_FALSE(small);
  EXPECT_THAT(small.error().sentence(), HasSubstr("larger than 500 bytes"));
}

TEST_P(PythonStates, AreStoppedAtTheTimeLimit) {
  PythonSession session = new_session({}, {.timeout = milliseconds(500)});
  (void)session.execute("class Endless:\n    def __reduce__(self):\n        while True: pass",
                        {.limits = {.timeout = milliseconds(60'000)}});
  (void)session.execute("good, bad = 1, Endless()", {.limits = {.timeout = milliseconds(60'000)}});
  EXPECT_THAT(session.snapshot_state().error().sentence(), HasSubstr("time limit"));
  EXPECT_EQ(session.execute("good", {.limits = {.timeout = milliseconds(60'000)}}).result_repr,
            "1");
}

TEST_P(PythonStates, ThatAreDamagedAreErrors) {
  PythonSession session = new_session();
  (void)printed(session, "x = list(range(100))");
  const std::string good = session.snapshot_state()->bytes;
  for (const std::string& bad :
       {std::string(), std::string("CLPYST1"), std::string(1000, 'x'),
        good.substr(0, good.size() - 1), good + "x", "CLPYST9" + good.substr(7)}) {
    const auto result = session.restore_state(bad);
    EXPECT_FALSE(result);
    EXPECT_NE(result.error().sentence(), "");
  }
  for (std::size_t at = 8; at < good.size(); at += 37) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    EXPECT_FALSE(session.restore_state(bad)) << at;
  }
  EXPECT_EQ(value_of(session, "len(x)"), "100");
}

TEST_P(PythonStates, GoOnInForks) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  (void)printed(
      session,
      "import random\nx = [1]\nasync def g(): return await f(a=1)\nopen('file', 'w').write('old')");
  const std::unique_ptr<PythonSession> twin = session.fork();
  EXPECT_EQ(value_of(*twin, "x.append(2)\nopen('file', 'w').write('new')\nx"), "[1, 2]");
  EXPECT_EQ(value_of(session, "x, open('file').read()"), "([1], 'old')");
  EXPECT_EQ(value_of(*twin, "await g(), open('file').read()"), "({'a': 1}, 'new')");
  EXPECT_NE(value_of(*twin, "random.random()"), value_of(session, "random.random()"));
}

TEST_P(PythonStates, HaveTheTasksOfTheirLoopInForks) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  (void)printed(session,
                "import asyncio\n"
                "async def later():\n"
                "    await asyncio.sleep(0.01)\n"
                "    return await f(n=1)\n"
                "task = asyncio.create_task(later())\n"
                "await asyncio.sleep(0)");
  const std::unique_ptr<PythonSession> twin = session.fork();
  const std::unique_ptr<PythonSession> third = twin->fork();
  for (PythonSession* one : {&session, twin.get(), third.get()}) {
    const ExecuteResult result = one->execute("await task");
    EXPECT_EQ(result.result_repr, "{'n': 1}");
    EXPECT_EQ(result.reason, "");
  }
}

TEST_P(PythonStates, SayThatAForkBeganAnew) {
  if (!is_linux()) GTEST_SKIP() << "there threads go on";
  PythonSession session = new_session();
  (void)printed(session,
                "import threading\nstop = threading.Event()\n"
                "thread = threading.Thread(target=stop.wait)\nthread.start()\nx = 1");
  const std::unique_ptr<PythonSession> twin = session.fork();
  const ExecuteResult first = twin->execute("'x' in dir()");
  EXPECT_EQ(first.result_repr, "False");
  EXPECT_EQ(first.reason, "the live Python is not in this fork: it had threads, and began anew");
  EXPECT_EQ(twin->execute("1").reason, "");
  (void)printed(session, "stop.set(); thread.join(); x");
  EXPECT_EQ(value_of(*session.fork(), "x"), "1");
}

CLOCHE_ON_EACH_ENGINE(PythonStates);

}  // namespace
}  // namespace cloche::testing

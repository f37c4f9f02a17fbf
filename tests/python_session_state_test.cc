// SPDX-License-Identifier: Apache-2.0
// PythonSession: its state, saved, restored and forked.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/temp_dir_testing.h"
#include "cloche/python_session.h"
#include "python_session_testing.h"
#include "sandbox/live_sandbox.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(PythonSessionState, KindsOfClassesGoToAnotherSession) {
  PythonSession session = new_session();
  (void)printed(session, R"(
import abc, typing
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self, scale: float) -> float: ...
class Square(Shape):
    __slots__ = ("side",)
    def __init__(self, side: float): self.side = side
    def area(self, scale: float) -> float: return self.side ** 2 * scale
    def grown(self, by: "Square") -> "Square": return Square(self.side + by.side)
class Box[T]:
    def __init__(self, value: T): self.value = value
    def get(self) -> T: return self.value
class Row(typing.TypedDict, total=False):
    name: typing.Required[str]
    size: int
class Pair(typing.NamedTuple):
    left: int
    right: str = "r"
class Trouble(Exception):
    def __init__(self, code, where):
        super().__init__(f"{code} at {where}")
        self.code = code
class Meta(type):
    def __new__(meta, name, bases, names): return super().__new__(meta, name, bases, names | {"made": True})
class Made(metaclass=Meta): pass
box, pair, trouble, square = Box([1]), Pair(1), Trouble(7, "here"), Square(2)
)");
  const auto state = session.snapshot_state();
  ASSERT_TRUE(state) << state.error().sentence();
  PythonSession other = new_session();
  const auto restored = other.restore_state(state->bytes);
  ASSERT_TRUE(restored) << restored.error().sentence();
  EXPECT_EQ(
      value_of(
          other,
          R"([square.area(2), square.grown(square).side, box.get(), pair, trouble.code, str(trouble), Made.made,
 Row(name="a"), sorted(Row.__required_keys__), sorted(Row.__optional_keys__), Shape.__abstractmethods__,
 typing.get_type_hints(Row), typing.get_type_hints(Square.grown)["by"] is Square])"),
      "[8, 4, [1], Pair(left=1, right='r'), 7, '7 at here', True, {'name': 'a'}, ['name'], "
      "['size'], frozenset({'area'}), {'name': <class 'str'>, 'size': <class 'int'>}, True]");
}

// One that was killed between two executions begins anew, and so does a fork.
TEST(PythonSessionState, AForkOfOneThatWasKilledBeginsAnew) {
  const auto sandbox = make_sandbox();
  PythonSession session(*sandbox, {});
  EXPECT_EQ(value_of(session, "x = 41\nx"), "41");
  EXPECT_EQ(sandbox->run({.script = "pkill -9 python"}).exit_code, 0);
  const auto fork = session.fork();
  EXPECT_EQ(value_of(*fork, "'x' in globals()"), "False");
}

// A door may stop what is executed in one that is let go of meanwhile.
TEST(LiveSandbox, LivesAsLongAsItsPython) {
  sandbox::LiveSandbox live = sandbox::make_live_sandbox(make_sandbox());
  const std::shared_ptr<PythonSession> python = live.python;
  live = {};
  EXPECT_EQ(value_of(*python, "6 * 7"), "42");
}

// At any moment of a fork, too.
TEST(PythonSessionState, AForkOfOneThatIsKilledMeanwhileGoesOnOrBeginsAnew) {
  const auto sandbox = make_sandbox();
  PythonSession session(*sandbox, {});
  std::jthread killer([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      (void)sandbox->run({.script = "for i in $(seq 50); do pkill -9 python; done"});
  });
  int forks = 0;
  for (int i = 0; i < 300; ++i) {
    (void)session.execute("x = 41");
    try {
      const auto fork = session.fork();
      ++forks;
      EXPECT_THAT(value_of(*fork, "globals().get('x', 41)"), "41");
    } catch (const Error& problem) {
      EXPECT_THAT(std::string(problem.sentence()), HasSubstr("cannot be forked"));
    }
  }
  EXPECT_GT(forks, 0);
}

TEST(PythonSessionState, ACheckpointIsTheWholeInterpreter) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("checkpoint-" + std::to_string(getpid()));
  {
    PythonSession session = new_session();
    (void)printed(
        session,
        "import decimal\ngenerator = (i * i for i in range(5))\nnext(generator), next(generator)");
    session.checkpoint(file);
    EXPECT_EQ(value_of(session, "next(generator)"), "4");
  }
  PythonSession other = new_session({.callbacks = {echo("f")}});
  other.restore(file);
  EXPECT_EQ(value_of(other, "next(generator), await f()"), "(4, {})");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THROW(other.restore(file), std::runtime_error);
  EXPECT_EQ(value_of(other, "next(generator)"), "9");
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    if (entry.path().filename().string().starts_with(file.filename().string()))
      std::filesystem::remove(entry.path());
  }
}

TEST(PythonSessionState, ACheckpointThatCannotBeginHereIsAnError) {
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "checkpoint";
  {
    PythonSession session = new_session();
    (void)printed(session, "much = bytearray(300 << 20)");
    session.checkpoint(file);
  }
  const auto small = make_sandbox({.memory_limit_bytes = 128 << 20});
  PythonSession other(*small, {});
  EXPECT_EQ(value_of(other, "x = 41\nx"), "41");
  try {
    other.restore(file);
    FAIL() << "it is restored";
  } catch (const Error& problem) {
    EXPECT_NE(problem.sentence().find("cannot go on from that file"), std::string::npos)
        << problem.sentence();
  }
  EXPECT_EQ(value_of(other, "'x' in globals(), 'much' in globals()"), "(False, False)");
}

// Of whom they may have shared a folder of this machine with.
TEST(PythonSessionState, ALinkOfAGuestLeadsToNoCheckpointOfAnother) {
  const TempDir folder;
  const std::filesystem::path shared = folder.path() / "shared";
  std::filesystem::create_directory(shared);
  {
    PythonSession session = new_session();
    (void)printed(session, "secret = 'of another'");
    session.checkpoint(folder.path() / "other");
    session.checkpoint(shared / "own");
  }
  const SandboxOptions options{.mounts = {{shared, "/shared", Mount::Access::read_write}}};
  PythonSession session = new_session({}, options);
  session.restore(shared / "own");
  (void)printed(session,
                "import os\nos.unlink('/shared/own')\nos.symlink('../other', '/shared/own')\n"
                "del secret");
  try {
    session.restore(shared / "own");
    FAIL() << value_of(session, "secret");
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), Errno::acces);
  }
  EXPECT_EQ(value_of(session, "'secret' in globals()"), "False");
}

}  // namespace
}  // namespace cloche::testing

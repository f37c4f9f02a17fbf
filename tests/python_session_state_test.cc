// SPDX-License-Identifier: Apache-2.0
// PythonSession: its state, saved, restored and forked.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "cloche/python_session.h"
#include "python_session_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

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

TEST(PythonSessionState, GoesToAnotherSession) {
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

TEST(PythonSessionState, NamesWhatCannotGo) {
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

TEST(PythonSessionState, PicklingIsStoppedAtTheTimeLimit) {
  PythonSession session = new_session({}, {.timeout = milliseconds(500)});
  (void)session.execute("class Endless:\n    def __reduce__(self):\n        while True: pass",
                        {.limits = {.timeout = milliseconds(60'000)}});
  (void)session.execute("good, bad = 1, Endless()", {.limits = {.timeout = milliseconds(60'000)}});
  EXPECT_THAT(session.snapshot_state().error().sentence(), HasSubstr("time limit"));
  EXPECT_EQ(session.execute("good", {.limits = {.timeout = milliseconds(60'000)}}).result_repr,
            "1");
}

TEST(PythonSessionState, DamagedBytesAreErrors) {
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

TEST(PythonSessionState, AForkGoesOnByItself) {
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

}  // namespace
}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
// PythonSession: executions, callbacks, limits, tracing.
#include "cloche/python_session.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "python_session_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// --- Execution

TEST(PythonSession, StartsFromACheckpoint) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("image-" + std::to_string(getpid()));
  {
    PythonSession session = new_session();
    (void)printed(session, "import colorsys\nprepared = [1, 2, 3]");
    session.checkpoint(file, CheckpointFile::over_started);
  }
  PythonSession session = new_session({.image = file});
  EXPECT_EQ(value_of(session, "prepared, colorsys.__name__"), "([1, 2, 3], 'colorsys')");
  EXPECT_FALSE(session.execute("del prepared\nimport os\nos._exit(3)").session_alive);
  EXPECT_EQ(value_of(session, "prepared"), "[1, 2, 3]");
  std::filesystem::remove(file);
  PythonSession none = new_session({.image = file});
  EXPECT_EQ(none.execute("1").status, ExecuteStatus::ended);
}

// A file of a test, gone with it.
struct TemporaryFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cloche-image-" + std::to_string(getpid()));
  ~TemporaryFile() { std::filesystem::remove(path); }
};

TEST(PythonImages, AreWhatASandboxesPythonStartsFrom) {
  const TemporaryFile image;
  {
    PythonSession setup = new_session({}, {.packages = {"six"}});
    (void)printed(setup,
                  "import colorsys, os, six\ncolorsys.mark = 'set up'\ndef helper(): return 7\n"
                  "os.environ['OF_SETUP'] = 'kept'");
    setup.checkpoint(image.path, CheckpointFile::over_started);
  }
  const auto sandbox = make_sandbox({.environment = {{"OWN", "here"}}, .image = image.path});
  constexpr const char* question =
      "import os, sys; print('colorsys' in sys.modules, sys.modules['colorsys'].mark, "
      "os.environ['OWN'], 'six' in sys.modules, 'helper' in globals())";
  const RunResult process = sandbox->run({.argv = {"python3", "-c", question}});
  EXPECT_EQ(process.stdout_data, "True set up here True False\n") << process.stderr_data;
  const RunResult kept = sandbox->run_python(question);
  EXPECT_EQ(kept.stdout_data, "True set up here True True\n") << kept.stderr_data;
  PythonSession session(*sandbox);
  EXPECT_EQ(value_of(session, "helper(), os.environ['OF_SETUP'], os.environ['OWN'], six.__name__"),
            "(7, 'kept', 'here', 'six')");
  const auto fork = sandbox->fork();
  EXPECT_EQ(fork->run({.argv = {"python3", "-c", question}}).stdout_data,
            "True set up here True False\n");
}

TEST(PythonImages, HaveNoThreadsThatAProgramWaitsFor) {
  const TemporaryFile image;
  {
    PythonSession setup = new_session();
    (void)printed(setup,
                  "import concurrent.futures\npool = concurrent.futures.ThreadPoolExecutor(2)\n"
                  "list(pool.map(abs, [-1, -2]))");
    setup.checkpoint(image.path, CheckpointFile::over_started);
  }
  const auto sandbox = make_sandbox({.image = image.path});
  constexpr const char* program =
      "import concurrent.futures, threading; print(threading.active_count()); "
      "print(concurrent.futures.ThreadPoolExecutor().submit(abs, -3).result())";
  const RunResult result = sandbox->run({.argv = {"python3", "-c", program}});
  EXPECT_EQ(result.status, RunStatus::exited);
  EXPECT_EQ(result.stdout_data, "1\n3\n") << result.stderr_data;
}

TEST(PythonImages, HaveTheLocalTimeOfTheSandboxThatTheyCameTo) {
  const TemporaryFile image;
  {
    PythonSession setup = new_session({}, {.environment = {{"TZ", "Asia/Tokyo"}}});
    EXPECT_EQ(value_of(setup, "import time\ntime.localtime(0).tm_hour"), "9");
    setup.checkpoint(image.path, CheckpointFile::over_started);
  }
  PythonSession kept = new_session({.image = image.path}, {.environment = {{"TZ", "Asia/Tokyo"}}});
  EXPECT_EQ(value_of(kept, "time.localtime(0).tm_hour, time.tzname[0]"), "(9, 'JST')");
  PythonSession moved = new_session({.image = image.path}, {.environment = {{"TZ", "EST5EDT"}}});
  EXPECT_EQ(value_of(moved, "time.localtime(0).tm_hour, time.tzname"), "(19, ('EST', 'EDT'))");
  PythonSession plain = new_session({.image = image.path});
  EXPECT_EQ(value_of(plain, "time.localtime(0).tm_hour, time.tzname[0]"), "(0, 'UTC')");
}

TEST(PythonImages, ThatAreNoneAreErrorsThatSayWhy) {
  const TemporaryFile image;
  const auto why_not = [&](const std::filesystem::path& file) -> std::string {
    try {
      (void)make_sandbox({.image = file});
    } catch (const std::runtime_error& problem) {
      return problem.what();
    }
    return "it was taken";
  };
  const auto change = [&](std::uint64_t at, const std::string& text) {
    std::fstream file(image.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << text;
  };
  EXPECT_THAT(why_not(image.path), HasSubstr("there is no file"));
  EXPECT_THAT(why_not("/"), HasSubstr("is no file"));
  std::ofstream(image.path) << "something else";
  EXPECT_THAT(why_not(image.path), HasSubstr("is no image"));
  new_session().checkpoint(image.path);
  EXPECT_EQ(why_not(image.path), "it was taken");
  // Also one that was good a moment ago.
  constexpr std::uint64_t header = 65536;
  change(header + 70'000, "damage");
  EXPECT_THAT(why_not(image.path), HasSubstr("checksum is wrong"));
  std::filesystem::resize_file(image.path, header + 100'000);
  EXPECT_THAT(why_not(image.path), HasSubstr("another length"));
  change(0, "cloche-image 9\n");
  EXPECT_THAT(why_not(image.path), HasSubstr("has format 9"));
  const auto forge = [&](const std::string& hash) {
    std::ofstream(image.path) << R"(cloche-image 1
{"program": "another", "content_bytes": 0, "content_hash": ")" +
                                     hash + "\"}\n"
                              << std::string(header, '\0');
    std::filesystem::resize_file(image.path, header);
  };
  for (const char* name : {"", "../../outside", "ABC"}) {
    forge(name);
    EXPECT_THAT(why_not(image.path), HasSubstr("no checksum")) << name;
  }
  forge(std::string(64, 'a'));
  EXPECT_THAT(why_not(image.path), HasSubstr("another build"));
}

TEST(PythonSession, OutputComesInOrderFromAllWhoWrite) {
  PythonSession session = new_session();
  std::string seen;
  ExecuteOptions options;
  options.output = [&](Stream stream, std::string_view data) {
    seen += stream == Stream::out ? "o" : "e";
    seen += data;
  };
  const ExecuteResult result = session.execute(
      "import os, subprocess, sys\n"
      "print('one'); os.write(1, b'two\\n'); print('three', file=sys.stderr)\n"
      "subprocess.run('echo four; echo five >&2', shell=True)\n"
      "print('six', end='')",
      options);
  EXPECT_EQ(result.status, ExecuteStatus::ok);
  EXPECT_EQ(seen, "oone\notwo\nethree\nofour\nefive\nosix");
  EXPECT_EQ(result.stdout_data, "");
}

// --- Callbacks

TEST(PythonSessionCallbacks, APortThatIsFloodedRefuses) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  EXPECT_EQ(
      printed(
          session,
          "import os, struct\n"
          "for frame in (b'C', b'C1234', b'Zxyz', b'X12', b'C' + bytes(17 << 20)):\n"
          "    try: os.write(201, frame)\n"
          "    except OSError: print('refused')\n"
          "try:\n"
          "    for i in range(10 ** 6): os.write(201, b'C' + struct.pack('<I', i) + b'g\\0{}')\n"
          "except OSError: print('refused', i)\n"
          "while i > 0: i -= os.read(201, 1 << 20).count(b'not_found')\n"
          "print(await f(a=1))"),
      "refused\nrefused\nrefused\nrefused\nrefused\nrefused 65536\n{'a': 1}\n");
}

// --- Limits

ExecuteResult execute_within(PythonSession& session, std::string_view code,
                             const ExecuteLimits& limits) {
  ExecuteOptions options;
  options.limits = limits;
  return session.execute(code, options);
}

// How often this thread has given its core up.
std::int64_t sleeps_of_this_process() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_nvcsw;
}

TEST(PythonSessionLimits, WhoWaitsForAStopLooksOnlyWhenThereIsSomethingToSee) {
  PythonSession session = new_session();
  (void)printed(session, "import time");
  const std::int64_t before = sleeps_of_this_process();
  const ExecuteResult result = execute_within(session,
                                              "try:\n    while True: pass\n"
                                              "except BaseException: time.sleep(1)\n",
                                              {.timeout = milliseconds(50)});
  EXPECT_EQ(result.limit, Limit::time);
  EXPECT_TRUE(result.session_alive) << result.reason;
  // A look each millisecond would be a thousand.
  EXPECT_LT(sleeps_of_this_process() - before, 300);
}

TEST(PythonSession, ThatBecomesAnotherProgramEndsWithIt) {
  PythonSession session = new_session();
  const ExecuteResult result =
      session.execute("import os\nos.execv('/bin/sh', ['sh', '-c', 'echo $0; exit 9'])");
  EXPECT_EQ(result.status, ExecuteStatus::ended);
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_FALSE(result.session_alive);
}

TEST(PythonSessionLimits, HoldForAProgramThatASessionHasBecome) {
  constexpr const char* endless =
      "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo begun; sleep 1000'])";
  PythonSession slow = new_session();
  const ExecuteResult late = execute_within(slow, endless, {.timeout = milliseconds(200)});
  EXPECT_EQ(late.limit, Limit::time) << late.reason;
  EXPECT_FALSE(late.session_alive);

  PythonSession cancelled = new_session();
  ExecuteOptions options;
  std::thread other;
  options.output = [&](Stream, std::string_view) {
    if (!other.joinable()) other = std::thread([&] { cancelled.cancel(); });
  };
  const ExecuteResult stopped = cancelled.execute(endless, options);
  EXPECT_EQ(stopped.status, ExecuteStatus::cancelled) << stopped.reason;
  EXPECT_FALSE(stopped.session_alive);
  if (other.joinable()) other.join();
}

TEST(PythonSessionLimits, ResultsTellWhatWasUsed) {
  PythonSession session = new_session();
  constexpr const char* loop = "for i in range(50): pass";
  const ExecuteResult first = execute_within(session, loop, {.steps = 1'000'000});
  ASSERT_TRUE(first.steps);
  EXPECT_GE(*first.steps, 50U);
  EXPECT_LT(*first.steps, 500U);
  EXPECT_EQ(execute_within(session, loop, {.steps = 1'000'000}).steps, first.steps);
  EXPECT_EQ(execute_within(session, "while True: pass", {.steps = 700}).steps, 700U);
  EXPECT_EQ(execute_within(session, "1/0", {.steps = 700}).error->type, "ZeroDivisionError");
  EXPECT_FALSE(session.execute(loop).steps);
  EXPECT_FALSE(session.execute("syntax error").steps);

  const std::uint64_t before = session.execute("1").peak_memory_bytes.value_or(0);
  EXPECT_GT(before, 1U << 20);
  const ExecuteResult more = session.execute("b = bytearray(300 << 20); del b");
  EXPECT_GT(more.peak_memory_bytes.value_or(0), before + (250U << 20));
  EXPECT_EQ(session.execute("1").peak_memory_bytes, more.peak_memory_bytes);
  const ExecuteResult ended = session.execute("import os\nos._exit(1)");
  EXPECT_EQ(ended.status, ExecuteStatus::ended);
  EXPECT_EQ(ended.peak_memory_bytes, more.peak_memory_bytes);
  EXPECT_LT(session.execute("1").peak_memory_bytes.value_or(0), before + (100U << 20));
}

// --- Tracing

TEST(PythonSessionTracing, TellsWhatHappensAndNothingOfTheRuntime) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  std::vector<std::string> told;
  std::string contexts;
  ExecuteOptions options;
  options.trace.sink = [&](const TraceEvent& event) {
    EXPECT_EQ(event.event.find("_cloche"), std::string::npos);
    const std::size_t at = event.event.find("\"type\": \"") + 9;
    told.push_back(std::to_string(event.line) + " " +
                   event.event.substr(at, event.event.find('"', at) - at));
    contexts += event.context;
  };
  const ExecuteResult result = session.execute(
      "def g(a):\n"
      "    return a\n"
      "async def h():\n"
      "    await f()\n"
      "    g(3)\n"
      "await h()\n"
      "try: 1 / 0\n"
      "except ZeroDivisionError: pass",
      options);
  EXPECT_EQ(result.status, ExecuteStatus::ok);
  const std::vector<std::string> expected{
      "1 call",           "1 line",    "3 line",    "6 line",   "3 call",   "4 line",
      "4 callback_start", "4 suspend", "6 suspend", "6 resume", "4 resume", "4 callback_end",
      "5 line",           "1 call",    "2 line",    "2 return", "5 return", "7 line",
      "7 exception",      "8 line",    "8 return"};
  EXPECT_EQ(told, expected);
  EXPECT_NE(contexts.find("{\"arguments\": {\"a\": \"3\"}}"), std::string::npos) << contexts;
  told.clear();
  (void)session.execute("g(1)");
  EXPECT_TRUE(told.empty());
  options.trace.max_events_per_second = 10;
  const ExecuteResult many = session.execute("for i in range(1000):\n    g(i)", options);
  EXPECT_LE(told.size(), 30U);
  EXPECT_GT(many.trace_events_dropped, 1000U);
}

}  // namespace
}  // namespace cloche::testing

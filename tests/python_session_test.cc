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

TEST(PythonSession, KeepsNamesAndGivesTheLastValue) {
  PythonSession session = new_session();
  EXPECT_EQ(printed(session, "x = 20\nprint('made')"), "made\n");
  const ExecuteResult result = session.execute("x += 1\n{'x': x * 2, 'none': None}");
  EXPECT_EQ(result.result_repr, "{'x': 42, 'none': None}");
  EXPECT_EQ(result.result_json, R"({"x": 42, "none": null})");
  EXPECT_EQ(result.stdout_data, "");
  const ExecuteResult object = session.execute("object");
  EXPECT_TRUE(object.result_repr);
  EXPECT_FALSE(object.result_json);
  EXPECT_FALSE(session.execute("None").result_repr);
  EXPECT_EQ(value_of(session, "__name__"), "'__main__'");
}

TEST(PythonSession, AwaitsAtTheTopLevel) {
  PythonSession session = new_session();
  EXPECT_EQ(printed(session,
                    "import asyncio\n"
                    "async def later(n):\n    await asyncio.sleep(0.001)\n    return n\n"
                    "async def numbers():\n    yield 4\n"
                    "print(await later(1), await asyncio.gather(later(2), later(3)))\n"
                    "async for i in numbers(): print(i)\n"
                    "task = asyncio.create_task(later(5))"),
            "1 [2, 3]\n4\n");
  EXPECT_EQ(value_of(session, "await task"), "5");
  // In code without await nothing runs that keeps asyncio.run from it.
  EXPECT_EQ(value_of(session, "asyncio.run(later(6))"), "6");
}

TEST(PythonSession, ErrorsSayWhatAndWhereAndKeepWhatWasPrinted) {
  PythonSession session = new_session();
  const ExecuteResult result = session.execute(
      "import sys\ndef f():\n    print('before')\n    print('err', file=sys.stderr)\n"
      "    raise ValueError('no good')\n\nf()");
  EXPECT_EQ(result.status, ExecuteStatus::error);
  EXPECT_EQ(result.stdout_data, "before\n");
  EXPECT_EQ(result.stderr_data, "err\n");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "ValueError");
  EXPECT_EQ(result.error->message, "no good");
  EXPECT_EQ(result.error->line, 5);
  EXPECT_NE(result.error->traceback.find("line 7, in <module>"), std::string::npos);
  EXPECT_NE(result.error->traceback.find("raise ValueError('no good')"), std::string::npos);
  EXPECT_EQ(result.error->traceback.find("_cloche"), std::string::npos) << result.error->traceback;
  const ExecuteResult syntax = session.execute("x = 1\nif x\n    pass");
  EXPECT_EQ(syntax.error->type, "SyntaxError");
  EXPECT_EQ(syntax.error->line, 2);
  const ExecuteResult awaited = session.execute(
      "import asyncio\nasync def g():\n    await asyncio.sleep(0)\n    1 / 0\nawait g()");
  EXPECT_EQ(awaited.error->line, 4);
  EXPECT_EQ(awaited.error->traceback.find("asyncio"), awaited.error->traceback.rfind("asyncio"));
  const ExecuteResult exited = session.execute("import sys; print('bye'); sys.exit(3)");
  EXPECT_EQ(exited.status, ExecuteStatus::exited);
  EXPECT_EQ(exited.exit_code, 3);
  EXPECT_EQ(exited.stdout_data, "bye\n");
  EXPECT_EQ(printed(session, "f = None; print('alive')"), "alive\n");
}

TEST(PythonSession, AnInterpreterThatEndsSaysHow) {
  PythonSession session = new_session();
  const ExecuteResult left = session.execute("import os\nos._exit(3)");
  EXPECT_EQ(left.status, ExecuteStatus::ended);
  EXPECT_FALSE(left.session_alive);
  EXPECT_EQ(left.exit_code, 3);
  EXPECT_EQ(left.reason, "the session has ended: the interpreter exited with status 3");
  const ExecuteResult killed = session.execute("import os\nos.kill(os.getpid(), 9)");
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(killed.reason, "the session has ended: signal 9 ended the interpreter");
  EXPECT_EQ(value_of(session, "1 + 1"), "2");
}

TEST(PythonSession, MainIsTheUsersNamespace) {
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session,
                     "import pickle, typing\n"
                     "class A:\n    def __init__(self): self.x = 1\n"
                     "def f(a: 'A') -> int: ...\n"
                     "pickle.loads(pickle.dumps(A())).x, typing.get_type_hints(f)['a'] is A"),
            "(1, True)");
}

TEST(PythonSession, HandlersRunForSignalsFromElsewhere) {
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session,
                     "import os, signal, subprocess, time\nseen = []\n"
                     "signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))\n"
                     "subprocess.run(['sh', '-c', f'kill -USR1 {os.getpid()}'])\n"
                     "child = subprocess.Popen(['sh', '-c', f'kill -USR1 {os.getpid()}'])\n"
                     "while len(seen) < 2: pass\n"
                     "child.wait(), len(seen)"),
            "(0, 2)");
}

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
  EXPECT_THAT(why_not(image.path), HasSubstr("No such file"));
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

TEST(PythonSessionCallbacks, HaveAllTheirForms) {
  Callback add;
  add.name = "add";
  add.description = "Adds.";
  add.parameters_schema =
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
          "required": ["a", "b"], "additionalProperties": false})";
  add.handler = [](CallbackCall& call) { return call.arguments(); };
  PythonSession session =
      new_session({.callbacks = {add, echo("http.get"), echo("deep.er.still")}});
  EXPECT_EQ(printed(session,
                    "print(await invoke('add', '{\"a\": 1, \"b\": 2}'))\n"
                    "print(await invoke('add', a=1, b=2), await invoke('add', {'a': 1}, b=2))\n"
                    "print(await add(a=1, b=2), await add(1, 2), await add(1, b=2))\n"
                    "print(await http.get(url='u'), await deep.er.still())\n"
                    "print([(c['name'], c['description']) for c in list_callbacks()])\n"
                    "print(list_callbacks()[0]['parameters_schema']['required'])\n"
                    "from cloche import invoke_sync\nprint(invoke_sync('http.get', x=[1, None]))"),
            "{\"a\": 1, \"b\": 2}\n"
            "{'a': 1, 'b': 2} {'a': 1, 'b': 2}\n"
            "{'a': 1, 'b': 2} {'a': 1, 'b': 2} {'a': 1, 'b': 2}\n"
            "{'url': 'u'} {}\n"
            "[('add', 'Adds.'), ('deep.er.still', ''), ('http.get', '')]\n"
            "['a', 'b']\n"
            "{'x': [1, None]}\n");
}

TEST(PythonSessionCallbacks, WrongArgumentsAreTypeErrorsAndNeverArrive) {
  std::atomic<int> arrived = 0;
  Callback callback;
  callback.name = "f";
  callback.parameters_schema =
      R"({"properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"], "additionalProperties": false})";
  callback.handler = [&](CallbackCall&) {
    ++arrived;
    return std::string("1");
  };
  PythonSession session = new_session({.callbacks = {callback}});
  EXPECT_EQ(
      printed(session,
              "for arguments in ({}, {'n': 'x'}, {'n': 0}, {'n': 1, 'm': 2}, {'n': object()}):\n"
              "    try: await f(**arguments)\n"
              "    except TypeError as error: print('TypeError', error)\n"
              "try: await f(1, 2)\nexcept TypeError as error: print(error)\n"
              "try: await invoke('f', '[1]')\nexcept TypeError as error: print(error)\n"
              "try: await invoke('nonesuch')\nexcept LookupError as error: print(error)"),
      "TypeError f(): the argument 'n' is missing\n"
      "TypeError f(): n: \"x\" is not of type integer\n"
      "TypeError f(): n: 0 is less than 1\n"
      "TypeError f(): there is no argument 'm'\n"
      "TypeError f(): object is no value that JSON has\n"
      "f() takes 1 positional arguments but 2 were given\n"
      "f(): the arguments are no JSON object\n"
      "there is no callback 'nonesuch'\n");
  EXPECT_EQ(arrived, 0);
}

TEST(PythonSessionCallbacks, RunInParallelAndAnswerInOrder) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  Callback slow;
  slow.name = "slow";
  slow.handler = [&](CallbackCall& call) {
    const int now = ++running;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    // Nobody goes on before all ten are here.
    while (most < 10) std::this_thread::yield();
    --running;
    return call.arguments();
  };
  PythonSession session = new_session({.callbacks = {slow}});
  const ExecuteResult result = session.execute(
      "import asyncio\n[r['i'] for r in await asyncio.gather(*[slow(i=i) for i in range(10)])]");
  EXPECT_EQ(result.result_repr, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
  EXPECT_EQ(result.callback_count, 10U);
  EXPECT_EQ(most, 10);
}

TEST(PythonSessionCallbacks, PartsOfANameAreItemsToo) {
  Callback tool;
  tool.name = "mcp.my-server.tool";
  tool.handler = [](CallbackCall& call) { return call.arguments(); };
  PythonSession session = new_session({.callbacks = {tool}});
  EXPECT_EQ(printed(session,
                    "print(await mcp['my-server']['tool'](x=1))\n"
                    "print(await mcp['my-server.tool'](x=2), await mcp['my-server'].tool(x=3))\n"
                    "print('my-server' in mcp, 'other' in mcp, 3 in mcp)\n"
                    "try: mcp['other']\nexcept KeyError as error: print(error)\n"
                    "try: mcp[0]\nexcept TypeError as error: print(error)\n"
                    "try: list(mcp)\nexcept TypeError as error: print('no list')\n"
                    "import pickle\n"
                    "print(pickle.dumps(mcp, 0).split()[0], await "
                    "pickle.loads(pickle.dumps(mcp))['my-server.tool'](x=4))"),
            "{'x': 1}\n{'x': 2} {'x': 3}\nTrue False False\n'mcp.other'\n"
            "a part of a callback's name is a string, not int\nno list\nb'ccloche' {'x': 4}\n");
}

TEST(PythonSessionCallbacks, ErrorsTimeoutsAndCancellation) {
  Callback bad;
  bad.name = "bad";
  bad.handler = [](CallbackCall&) -> std::string { throw std::runtime_error("the host's reason"); };
  std::mutex mutex;
  std::vector<std::shared_ptr<CallbackCall>> waiting;
  Callback never;
  never.name = "never";
  never.timeout = milliseconds(20);
  never.async_handler = [&](std::shared_ptr<CallbackCall> call) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(call));
  };
  std::atomic<int> told = 0;
  Callback patient;
  patient.name = "patient";
  patient.async_handler = [&](std::shared_ptr<CallbackCall> call) {
    call->on_cancel([&] { ++told; });
  };
  Callback odd;
  odd.name = "odd";
  odd.handler = [](CallbackCall&) { return std::string("no JSON"); };
  PythonSession session = new_session({.callbacks = {bad, never, patient, odd}});
  EXPECT_EQ(
      printed(
          session,
          "import asyncio, traceback\n"
          "try: await bad()\nexcept RuntimeError as error: print(type(error).__name__, error)\n"
          "try: await never()\nexcept TimeoutError as error: print(error)\n"
          "try: await asyncio.wait_for(patient(), 0.02)\nexcept TimeoutError: print('gave up')\n"
          "try: await odd()\nexcept Exception as error: print(error)"),
      "CallbackError the host's reason\n"
      "never did not answer within 20 ms\n"
      "gave up\n"
      "the callback gave a result that is no JSON\n");
  EXPECT_EQ(told, 1);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_TRUE(waiting[0]->cancelled());
  waiting[0]->reply("1");  // nobody hears it
  EXPECT_EQ(session.execute("await bad()").error->traceback.find("_cloche"), std::string::npos);
}

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

TEST(PythonSessionCallbacks, ACallbackCannotUseItsSession) {
  PythonSession* own = nullptr;
  ExecuteResult inner;
  Callback reenter;
  reenter.name = "reenter";
  reenter.handler = [&](CallbackCall&) {
    inner = own->execute("1");
    return std::string("null");
  };
  PythonSession session = new_session({.callbacks = {reenter}});
  own = &session;
  EXPECT_EQ(session.execute("await reenter()").status, ExecuteStatus::ok);
  EXPECT_EQ(inner.status, ExecuteStatus::busy);
  EXPECT_NE(inner.reason.find("callback"), std::string::npos);
}

TEST(PythonSessionCallbacks, ComeAndGoWhileTheSessionLives) {
  PythonSession session = new_session();
  EXPECT_EQ(session.execute("await later()").error->type, "NameError");
  session.add_callback(echo("later"));
  EXPECT_EQ(value_of(session, "await later(a=1)"), "{'a': 1}");
  EXPECT_TRUE(session.remove_callback("later"));
  EXPECT_FALSE(session.remove_callback("later"));
  EXPECT_EQ(session.execute("await later()").error->type, "NameError");
  Callback none;
  none.name = "none";
  EXPECT_THROW(session.add_callback(none), Error);
  Callback schema = echo("schema");
  schema.parameters_schema = "[]";
  EXPECT_THROW(session.add_callback(schema), Error);
  EXPECT_THROW(session.add_callback(echo("two words")), Error);
}

// --- Limits

ExecuteResult execute_within(PythonSession& session, std::string_view code,
                             const ExecuteLimits& limits) {
  ExecuteOptions options;
  options.limits = limits;
  return session.execute(code, options);
}

TEST(PythonSessionLimits, TimeStopsCodeAndTheSessionGoesOn) {
  PythonSession session = new_session();
  (void)printed(session, "x = 1");
  for (const char* code : {"while True: pass", "import time\ntime.sleep(60)",
                           "import asyncio\nawait asyncio.sleep(60)",
                           "import subprocess\nsubprocess.run(['sleep', '60'])"}) {
    const ExecuteResult result = execute_within(session, code, {.timeout = milliseconds(50)});
    EXPECT_EQ(result.status, ExecuteStatus::limit) << code;
    EXPECT_EQ(result.limit, Limit::time) << code;
    EXPECT_EQ(result.error ? result.error->type : "", "TimeLimitExceeded") << code;
    EXPECT_TRUE(result.session_alive) << code << result.reason;
  }
  EXPECT_EQ(value_of(session, "x"), "1");
}

TEST(PythonSessionLimits, AnOperationThatDoesNotListenEndsTheSession) {
  PythonSession session = new_session();
  (void)printed(session, "x = 1");
  // On a busy host the time may be over before the operation has begun.
  ExecuteResult result;
  for (auto timeout = milliseconds(50); result.session_alive && timeout < std::chrono::minutes(1);
       timeout *= 2) {
    result = execute_within(session, "print('said'); sum(range(10**15))", {.timeout = timeout});
    EXPECT_EQ(result.limit, Limit::time);
  }
  EXPECT_FALSE(result.session_alive);
  EXPECT_EQ(result.stdout_data, "said\n");
  EXPECT_EQ(session.execute("x").error->type, "NameError");
}

TEST(PythonSessionLimits, AStopBeforeTheCodeHasBegunIsOneAsWell) {
  // The interpreter starts with the first execution, which takes longer than that.
  PythonSession session = new_session();
  const ExecuteResult result =
      execute_within(session, "x = 1\nwhile True: pass", {.timeout = milliseconds(1)});
  EXPECT_EQ(result.limit, Limit::time);
  EXPECT_TRUE(result.session_alive) << result.reason;
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->type, "TimeLimitExceeded");
  EXPECT_EQ(value_of(session, "1 + 1"), "2");
}

// How often this thread has given its core up.
std::int64_t sleeps_of_this_thread() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw;
}

TEST(PythonSessionLimits, WhoWaitsForAStopLooksOnlyWhenThereIsSomethingToSee) {
  PythonSession session = new_session();
  (void)printed(session, "import time");
  const std::int64_t before = sleeps_of_this_thread();
  const ExecuteResult result = execute_within(session,
                                              "try:\n    while True: pass\n"
                                              "except BaseException: time.sleep(1)\n",
                                              {.timeout = milliseconds(50)});
  EXPECT_EQ(result.limit, Limit::time);
  EXPECT_TRUE(result.session_alive) << result.reason;
  // A look each millisecond would be a thousand.
  EXPECT_LT(sleeps_of_this_thread() - before, 300);
}

TEST(PythonSessionLimits, EachSaysWhich) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  const ExecuteResult steps = execute_within(session, "i = 0\nwhile True: i += 1", {.steps = 1000});
  EXPECT_EQ(steps.limit, Limit::steps);
  const std::string first = value_of(session, "i");
  EXPECT_EQ(execute_within(session, "i = 0\nwhile True: i += 1", {.steps = 1000}).limit,
            Limit::steps);
  EXPECT_EQ(value_of(session, "i"), first);
  EXPECT_EQ(execute_within(session, "while True: pass", {.cpu_time = milliseconds(20)}).limit,
            Limit::cpu_time);
  const ExecuteResult calls =
      execute_within(session, "for i in range(9): await f()", {.callbacks = 3});
  EXPECT_EQ(calls.limit, Limit::callbacks);
  EXPECT_EQ(value_of(session, "i"), "3");
  const ExecuteResult memory =
      execute_within(session, "b = bytearray(500_000_000)", {.memory_bytes = 200'000'000});
  EXPECT_EQ(memory.limit, Limit::memory);
  EXPECT_EQ(memory.error->type, "MemoryError");
  ExecuteOptions quiet;
  quiet.limits.output_bytes = 1000;
  const ExecuteResult dropped = session.execute("print('x' * 5000)", quiet);
  EXPECT_EQ(dropped.status, ExecuteStatus::ok);
  EXPECT_TRUE(dropped.stdout_truncated);
  EXPECT_EQ(dropped.stdout_data.size(), 1000U);
  quiet.on_output_limit = OutputLimitAction::stop;
  const ExecuteResult stopped = session.execute("while True: print('x' * 100)", quiet);
  EXPECT_EQ(stopped.limit, Limit::output);
  EXPECT_TRUE(stopped.session_alive);
  EXPECT_EQ(value_of(session, "i"), "3");
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

TEST(PythonSessionLimits, CancelStopsFromAnotherThread) {
  std::atomic<bool> begun = false;
  Callback begin;
  begin.name = "begin";
  begin.handler = [&](CallbackCall&) {
    begun = true;
    return std::string("null");
  };
  PythonSession session = new_session({.callbacks = {begin}});
  session.cancel();  // nothing is in progress
  std::thread other([&] {
    while (!begun) std::this_thread::yield();
    session.cancel();
  });
  const ExecuteResult result = session.execute(
      "x = 5\ntry:\n    await begin()\n    while True: pass\nfinally: print('cleaned')");
  other.join();
  EXPECT_EQ(result.status, ExecuteStatus::cancelled);
  EXPECT_EQ(result.error->type, "ExecutionCancelled") << result.error->traceback;
  EXPECT_EQ(result.stdout_data, "cleaned\n");
  EXPECT_EQ(value_of(session, "x"), "5");
}

TEST(PythonSessionLimits, SessionsHaveTheirOwnClocks) {
  std::vector<std::unique_ptr<PythonSession>> sessions;
  for (int i = 0; i < 8; ++i)
    sessions.push_back(std::make_unique<PythonSession>(engine(), SandboxOptions{}));
  std::vector<std::thread> threads;
  std::atomic<int> stopped = 0;
  std::atomic<int> finished = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const ExecuteLimits limits{.timeout = milliseconds(i % 2 == 0 ? 40 : 60'000)};
      const ExecuteResult result =
          execute_within(*sessions[static_cast<std::size_t>(i)],
                         i % 2 == 0 ? "while True: pass" : "import time\ntime.sleep(0.1)", limits);
      if (result.limit == Limit::time && result.session_alive) ++stopped;
      if (result.status == ExecuteStatus::ok) ++finished;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stopped, 4);
  EXPECT_EQ(finished, 4);
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

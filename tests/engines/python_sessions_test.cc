// SPDX-License-Identifier: Apache-2.0
// Python sessions: executions, callbacks, limits.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cloche/python_session.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

class PythonSessions : public PythonOnEachEngine {};

ExecuteResult execute_within(PythonSession& session, std::string_view code,
                             const ExecuteLimits& limits) {
  ExecuteOptions options;
  options.limits = limits;
  return session.execute(code, options);
}

TEST_P(PythonSessions, KeepNamesAndGiveTheLastValue) {
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

// It is a file of the interpreter in a box, which its code may close.
TEST_P(PythonSessions, WaitIdlyForOneThatHasClosedItsPort) {
  if (!is_linux()) GTEST_SKIP() << "the wasm engine's has no such file";
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session, "1"), "1");
  const auto computed = [] {
    rusage use{};
    (void)::getrusage(RUSAGE_SELF, &use);
    return std::chrono::seconds(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           std::chrono::microseconds(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto before = computed();
  (void)session.execute("import os, time\nos.close(7)\ntime.sleep(1.5)");
  EXPECT_LT(computed() - before, (std::chrono::steady_clock::now() - begin) / 8);
}

// A descriptor that is closed here for the last time, and waits for bytes that nobody reads.
TEST_P(PythonSessions, DoNotWaitForWhatTheyAreGiven) {
  if (!is_linux()) GTEST_SKIP() << "the wasm engine's has no such file";
  PythonSession session = new_session();
  const ExecuteResult given = session.execute(R"(
import array, os, signal, socket, struct, time
listener = socket.create_server(("127.0.0.1", 0))
ours = socket.create_connection(listener.getsockname())
theirs, _ = listener.accept()
child = os.fork()
if child == 0:
    ours.close()
    time.sleep(30)
    os._exit(0)
theirs.close()
ours.setblocking(False)
try:
    while True: ours.send(bytes(65536))
except BlockingIOError: pass
ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30000))
port = socket.socket(fileno=os.dup(7))
beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [ours.fileno()]))]
try:
    port.sendmsg([b"\1\0\0\0\0x"], beside)
    ours.close()
except PermissionError: pass
time.sleep(0.3)
)");
  EXPECT_EQ(given.status, ExecuteStatus::ok) << given.stderr_data;
  EXPECT_EQ(value_of(session, "os.waitpid(child, os.WNOHANG)"), "(0, 0)");
  (void)session.execute("os.kill(child, signal.SIGKILL)");
}

TEST_P(PythonSessions, EndAtTheirTimeLimitWhileNobodyTakesTheirOutput) {
  if (!is_linux()) GTEST_SKIP() << "a box has processes that can be seen to end";
  const auto sandbox = make_sandbox();
  PythonSession session(*sandbox);
  EXPECT_EQ(value_of(session, "1"), "1");
  bool has_ended = false;
  ExecuteOptions options;
  options.limits.timeout = milliseconds(300);
  options.output = [&](Stream, std::string_view) {
    for (int i = 0; i < 6000 && !has_ended; ++i) {
      has_ended = sandbox->processes().empty();
      std::this_thread::sleep_for(milliseconds(10));
    }
  };
  const ExecuteResult result = session.execute("print('x', flush=True)\nwhile True: pass", options);
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(result.status, ExecuteStatus::limit);
  EXPECT_EQ(result.limit, Limit::time);
}

TEST_P(PythonSessions, KeepTheirNamesWhereTheirOutputIsTakenLate) {
  if (!is_linux()) GTEST_SKIP() << "the other engine's code goes on once its output was taken";
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session, "1"), "1");
  ExecuteOptions options;
  options.limits.timeout = milliseconds(1000);
  options.output = [&](Stream, std::string_view) {
    std::this_thread::sleep_for(3 * *options.limits.timeout);
  };
  EXPECT_EQ(session.execute("print('x'); x = 5", options).status, ExecuteStatus::ok);
  EXPECT_EQ(value_of(session, "x"), "5");
}

TEST_P(PythonSessions, SayHowMuchMemoryTheirInterpreterHasHadAtMost) {
  constexpr std::uint64_t mib = 1 << 20;
  PythonSession session = new_session({}, {.memory_limit_bytes = 512 * mib});
  const auto peak_of = [&](std::string_view code) {
    return session.execute(code).peak_memory_bytes.value_or(0);
  };
  const std::uint64_t before = peak_of("1");
  EXPECT_GT(before, mib);
  EXPECT_LT(before, 256 * mib);
  const std::uint64_t more = peak_of("n = 100 << 20\nb = b'x' * n\ndel b");
  EXPECT_GT(more, before + 90 * mib);
  EXPECT_LT(more, before + 130 * mib);
  EXPECT_GE(peak_of("1"), more);
  EXPECT_GE(peak_of("1 / 0"), more);
  const ExecuteResult ended = session.execute("import os\nos._exit(1)");
  EXPECT_EQ(ended.status, ExecuteStatus::ended);
  EXPECT_GE(ended.peak_memory_bytes.value_or(0), more);
  EXPECT_LT(ended.peak_memory_bytes.value_or(0), more + 30 * mib);
  EXPECT_LT(peak_of("1"), before + 50 * mib);
}

TEST_P(PythonSessions, AwaitAtTheTopLevel) {
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

TEST_P(PythonSessions, SayWhatFailedAndWhereAndKeepWhatWasPrinted) {
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

TEST_P(PythonSessions, SayHowTheirInterpreterEnded) {
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

TEST_P(PythonSessions, HaveTheUsersNamesInMain) {
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session,
                     "import pickle, typing\n"
                     "class A:\n    def __init__(self): self.x = 1\n"
                     "def f(a: 'A') -> int: ...\n"
                     "pickle.loads(pickle.dumps(A())).x, typing.get_type_hints(f)['a'] is A"),
            "(1, True)");
}

TEST_P(PythonSessions, RunHandlersForSignalsFromElsewhere) {
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

TEST_P(PythonSessions, CallBackInAllForms) {
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

TEST_P(PythonSessions, RefuseWrongArgumentsBeforeTheyArrive) {
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

TEST_P(PythonSessions, CallBackInParallelAndHaveAnswersInOrder) {
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

TEST_P(PythonSessions, HaveNamesWhosePartsAreItemsToo) {
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

TEST_P(PythonSessions, HearOfErrorsTimeoutsAndCancellation) {
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

TEST_P(PythonSessions, AreBusyForTheirCallbacks) {
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

TEST_P(PythonSessions, GetAndLoseCallbacks) {
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

TEST_P(PythonSessions, GoOnAfterTheirTimeLimit) {
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

TEST_P(PythonSessions, EndByAnOperationThatDoesNotListen) {
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

TEST_P(PythonSessions, AreStoppedBeforeTheCodeHasBegun) {
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

TEST_P(PythonSessions, SayWhichLimitItWas) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
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

TEST_P(PythonSessions, CountStepsOrSayThatTheyCannot) {
  PythonSession session = new_session();
  if (value_of(session, "import sys; sys.version_info >= (3, 12)") == "False") {
    const ExecuteResult refused = execute_within(session, "i = 1", {.steps = 1000});
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->message.find("traces and limits of steps need Python 3.12"), 0U);
    EXPECT_EQ(session.execute("i").error->type, "NameError");
    return;
  }
  const ExecuteResult steps = execute_within(session, "i = 0\nwhile True: i += 1", {.steps = 1000});
  EXPECT_EQ(steps.limit, Limit::steps);
  const std::string first = value_of(session, "i");
  EXPECT_EQ(execute_within(session, "i = 0\nwhile True: i += 1", {.steps = 1000}).limit,
            Limit::steps);
  EXPECT_EQ(value_of(session, "i"), first);
}

TEST_P(PythonSessions, AreCancelledFromAnotherThread) {
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

TEST_P(PythonSessions, HaveTheirOwnClocks) {
  std::vector<std::unique_ptr<PythonSession>> sessions;
  for (int i = 0; i < 8; ++i)
    sessions.push_back(std::make_unique<PythonSession>(engine(), of_engine()));
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

TEST_P(PythonSessions, PassWhatIsLarge) {
  PythonSession session = new_session({.callbacks = {echo("f")}});
  const ExecuteResult result = session.execute(
      "import asyncio\n"
      "text = 'x' * 5_000_000\n"
      "print(text)\n"
      "all(r['text'] == text for r in await asyncio.gather(*[f(text=text) for _ in range(4)]))");
  EXPECT_EQ(result.result_repr, "True") << (result.error ? result.error->traceback : "");
  EXPECT_EQ(result.stdout_data.size(), 5'000'001U);
}

TEST_P(PythonSessions, PassOutputOnAsItComes) {
  PythonSession session = new_session();
  std::string out, err;
  std::atomic<bool> heard = false;
  Callback wait;
  wait.name = "wait";
  wait.handler = [&](CallbackCall&) {
    while (!heard) std::this_thread::yield();
    return std::string("null");
  };
  session.add_callback(wait);
  ExecuteOptions options;
  options.output = [&](Stream stream, std::string_view data) {
    (stream == Stream::out ? out : err) += data;
    heard = true;
  };
  const ExecuteResult result = session.execute(
      "import os, subprocess, sys\n"
      "print('one'); await wait(); os.write(1, b'two\\n'); print('three', file=sys.stderr)\n"
      "subprocess.run('echo four; echo five >&2', shell=True)\n"
      "print('six', end='')",
      options);
  EXPECT_EQ(result.status, ExecuteStatus::ok);
  EXPECT_EQ(out, "one\ntwo\nfour\nsix");
  EXPECT_EQ(err, "three\nfive\n");
  EXPECT_EQ(result.stdout_data, "");
}

// A process that the code has forked, and that comes to the end of the code, says nothing for it.
TEST_P(PythonSessions, AreNotWhatTheirCodeForks) {
  if (!is_linux()) GTEST_SKIP() << "Python has no fork there";
  PythonSession session = new_session({.callbacks = {echo("f")}});
  EXPECT_EQ(printed(session,
                    "import os\n"
                    "child = os.fork()\n"
                    "if child: print(os.waitpid(child, 0)[0] == child)\n"
                    "else: print('child')\n"),
            "child\nTrue\n");
  EXPECT_EQ(value_of(session, "await f(a=1)"), "{'a': 1}");
}

TEST_P(PythonSessions, EndWhereTheyCannotSayHowTheirCodeEnds) {
  PythonSession session = new_session();
  EXPECT_EQ(value_of(session, "x = len('abc'); x"), "3");
  (void)session.execute("del __builtins__.len");
  ExecuteResult result;
  for (int i = 0; i < 3 && (i == 0 || result.session_alive); ++i) result = session.execute("x");
  EXPECT_EQ(result.status, ExecuteStatus::ended);
  EXPECT_FALSE(result.session_alive);
  if (!is_linux()) {  // there it ends by itself
    EXPECT_THAT(result.reason, ::testing::HasSubstr("could not say how code ended"));
  }
  EXPECT_EQ(value_of(session, "len('abc')"), "3");
}

// By hand, at the descriptors of the engine.
TEST_P(PythonSessions, EndWhereTheySayNonsense) {
  if (!is_linux()) GTEST_SKIP() << "PythonSessionCallbacks.APortThatIsFloodedRefuses";
  for (const char* code : {
           "os.write(7, b'x')",                                            // no packet
           "os.write(7, bytes(100_000))",                                  // longer than one may be
           "while True: os.write(7, bytes(60_000))",                       // a frame without an end
           "os.write(4, b'x')\nwhile True: pass",                          // no answer
           "os.close(4)\nwhile True: pass",                                // none any more
           "os.write(7, bytes(4) + b'\\1R' + b'[' * 10_000)\nos._exit(1)"  // a record
       }) {
    PythonSession session = new_session({.callbacks = {echo("f")}});
    const ExecuteResult result = session.execute(std::string("import os\n") + code);
    EXPECT_EQ(result.status, ExecuteStatus::ended) << code;
    EXPECT_FALSE(result.session_alive) << code;
    EXPECT_EQ(value_of(session, "await f(a=1)"), "{'a': 1}") << code;
  }
  PythonSession session = new_session({.callbacks = {echo("f")}});
  EXPECT_EQ(printed(session,
                    "import os\n"
                    "for i in range(10_000): os.write(7, bytes((i % 256, i // 256, 9, 0, 0)))\n"
                    "for frame in (b'', b'C', b'C1234', b'Z', b'X1', b'C1234none\\0{}'):\n"
                    "    os.write(7, b'1234\\1' + frame)\n"
                    "print(await f(a=1))"),
            "{'a': 1}\n");
}

CLOCHE_ON_EACH_ENGINE(PythonSessions);

}  // namespace
}  // namespace cloche::testing

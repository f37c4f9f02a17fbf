// SPDX-License-Identifier: Apache-2.0
// Threads of python3, each with a stack of its own: what ends them, and what a session keeps of them.
#include <gmock/gmock.h>

#include "base/resident_memory.h"
#include "python_session_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;

// Threads that never end by themselves: one computes, one sleeps, one waits for a lock.
constexpr std::string_view busy_threads = R"(
import os, sys, threading, time
def compute():
    while True: pass
def sleep():
    while True: time.sleep(0.01)
lock = threading.Lock(); lock.acquire()
for f in (compute, sleep, lock.acquire): threading.Thread(target=f).start()
)";

RunResult run(Sandbox& sandbox, std::string_view program) {
  return sandbox.run({.argv = {"python3", "-c", std::string(busy_threads) + std::string(program)}});
}

TEST(PythonThreadsEnd, WithTheirProcess) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(run(*sandbox, "os._exit(7)").exit_code, 7);
  EXPECT_EQ(
      run(*sandbox, "threading.Thread(target=os._exit, args=(8,)).start(); compute()").exit_code,
      8);
  const RunResult replaced =
      run(*sandbox,
          "threading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', 'echo $0; exit 9'"
          "])).start(); lock.acquire()");
  EXPECT_EQ(replaced.stdout_data, "sh\n") << replaced.stderr_data;
  EXPECT_EQ(replaced.exit_code, 9);
  EXPECT_EQ(run(*sandbox, "os.kill(os.getpid(), 9)").exit_code, 128 + 9);
}

TEST(PythonThreadsEnd, AfterTheMainThreadForThoseThatJoinIt) {
  const RunResult result = make_sandbox()->run({.argv = {"python3", "-c", R"(
import threading, time
def after(main):
    main.join(); print('last', main.is_alive())
    threading.Thread(target=print, args=('really last',)).start()
threading.Thread(target=after, args=(threading.current_thread(),)).start()
try: threading.current_thread().join()
except RuntimeError as error: print(error)
time.sleep(0.01); print('main ends'))"}});
  EXPECT_EQ(result.stdout_data, "cannot join current thread\nmain ends\nlast False\nreally last\n")
      << result.stderr_data;
  EXPECT_EQ(result.exit_code, 0);
}

TEST(PythonThreadsEnd, AtATimeLimit) {
  const auto sandbox = make_sandbox();
  RunOptions options{.argv = {"python3", "-c", std::string(busy_threads) + "compute()"}};
  options.timeout = std::chrono::seconds(2);
  EXPECT_EQ(sandbox->run(options).status, RunStatus::timed_out);
  EXPECT_EQ(sandbox->run({.argv = {"python3", "-c", "print(1)"}}).stdout_data, "1\n");
}

TEST(PythonThreadsEnd, WithATrapInOneOfThem) {
  const auto sandbox = make_sandbox();
  // The hash of each is that of what it leads to, on the machine's stack: natively a crash, too.
  const RunResult result = run(*sandbox,
                               "import weakref\n"
                               "class Link(weakref.ref): pass\n"
                               "def deep():\n"
                               "    links = [compute]\n"
                               "    for _ in range(200000): links.append(Link(links[-1]))\n"
                               "    hash(links[-1])\n"
                               "threading.Thread(target=deep).start()\n"
                               "compute()");
  EXPECT_EQ(result.exit_code, 128 + 11);
  EXPECT_THAT(result.reason, HasSubstr("stack"));
}

// Also of a program that begins threads while room for another one's stack is asked of it.
TEST(PythonThreads, OfOneProcessAreSoMany) {
  const auto sandbox = make_sandbox();
  const std::vector<std::byte> program = wasm::from_wat(R"((module
    (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 2)
    (global (export "__stack_pointer") (mut i32) (i32.const 65536))
    (global $asked (mut i32) (i32.const 0))
    (global $begun (mut i32) (i32.const 0))
    (func $begin
      (i64.store (i32.const 0) (i64.const 0x30726874)) ;; "thr0"
      (drop (call $call (i32.const 0) (i32.const 8) (i32.const 1000) (i32.const 1004)))
      (if (i32.load (i32.const 4))
        (then (global.set $begun (i32.add (global.get $begun) (i32.const 1))))))
    (func (export "cloche_thread_start") (param i32))
    (func (export "cloche_thread_swap") (param i32) (result i32) (i32.const 1))
    (func (export "host_alloc") (param i32) (result i32)
      (global.set $asked (i32.add (global.get $asked) (i32.const 1)))
      (if (i32.lt_u (global.get $asked) (i32.const 200)) (then (call $begin)))
      (i32.const 16))
    (func (export "_start") (call $begin) (call $exit (global.get $begun)))))");
  const std::string_view bytes(reinterpret_cast<const char*>(program.data()), program.size());
  ASSERT_TRUE(sandbox->files().write("many", bytes, 0755));
  EXPECT_EQ(sandbox->run({.script = "./many"}).exit_code, 128);
}

// Locks of C, on which the only thread waits in the C library.
TEST(PythonThreads, AWaitOfTheOnlyOneEndsAtItsTimeOrWithASignal) {
  PythonSession session = new_session();
  (void)printed(session,
                "import signal, threading, time\n"
                "lock = threading.Lock()._lock; lock.acquire()\n"
                "def release(*_): lock.release()\n"
                "signal.signal(signal.SIGALRM, release)");
  EXPECT_EQ(value_of(session, "lock.acquire(True, 0.02)"), "False");
  EXPECT_EQ(value_of(session,
                     "begin = time.monotonic(); lock.acquire(True, 0.02)\n"
                     "time.monotonic() - begin >= 0.02"),
            "True");
  EXPECT_EQ(value_of(session,
                     "_ = signal.setitimer(signal.ITIMER_REAL, 0.02)\n"
                     "lock.acquire()"),
            "True");
}

// They hand over to each other without the scheduler.
// Each is worthless with the next one.
TEST(PythonThreads, LeaveNothingOfTheTicksThatTheyHaveAskedFor) {
  PythonSession session = new_session();
  EXPECT_EQ(printed(session, R"(
import _host, struct
tick = bytearray(b"tck0" + struct.pack("<II", 10000, 34))
def ask(times):
    for _ in range(times): _host.call(tick)
ask(1000))"),
            "");
  const std::uint64_t before = resident_bytes();
  EXPECT_EQ(printed(session, "ask(300_000)"), "");
  EXPECT_LT(resident_bytes(), before + (32 << 20));
}

TEST(PythonThreads, AreWhoTheyAreAfterAWaitForALockOfC) {
  PythonSession session = new_session();
  (void)printed(session,
                "import threading, time\n"
                "lock, wrong = threading.Lock()._lock, []\n"
                "def work():\n"
                "    own = threading.current_thread()\n"
                "    for _ in range(5):\n"
                "        with lock: time.sleep(0.002)\n"
                "        if threading.current_thread() is not own: wrong.append(own.name)\n"
                "threads = [threading.Thread(target=work, daemon=True) for _ in range(6)]\n"
                "for thread in threads: thread.start()\n"
                "for thread in threads: thread.join(10)");
  EXPECT_EQ(value_of(session, "wrong, [t.name for t in threads if t.is_alive()]"), "([], [])");
  // And a tick comes to who computes.
  EXPECT_EQ(value_of(session,
                     "thread = threading.Thread(target=wrong.append, args=(1,)); thread.start()\n"
                     "end = time.monotonic() + 10\n"
                     "while not wrong and time.monotonic() < end: pass\n"
                     "wrong"),
            "[1]");
}

TEST(PythonThreads, GoOnInALaterTurnOfASession) {
  PythonSession session = new_session();
  (void)printed(session,
                "import threading, time\n"
                "ticks, stop = [], threading.Event()\n"
                "def tick():\n    while not stop.wait(0.001): ticks.append(1)\n"
                "thread = threading.Thread(target=tick); thread.start()");
  EXPECT_EQ(value_of(session,
                     "n = len(ticks)\n"
                     "while len(ticks) < n + 5: pass\n"
                     "stop.set(); thread.join(); thread.is_alive()"),
            "False");
}

TEST(PythonThreads, AForkOfASessionHasTheMainOneOnly) {
  PythonSession session = new_session();
  (void)printed(session,
                "import threading\n"
                "stop = threading.Event()\n"
                "thread = threading.Thread(target=stop.wait); thread.start()");
  auto fork = session.fork();
  ASSERT_TRUE(fork);
  EXPECT_EQ(value_of(*fork, "thread.is_alive()"), "False");
  EXPECT_EQ(value_of(*fork, "t = threading.Thread(target=len, args=([],)); t.start(); t.join(); 1"),
            "1");
  EXPECT_EQ(value_of(session, "thread.is_alive()"), "True");
  EXPECT_EQ(value_of(session, "stop.set(); thread.join(); thread.is_alive()"), "False");
}

}  // namespace
}  // namespace cloche::testing

// SPDX-License-Identifier: Apache-2.0
// python3 as a process: its command line, signals, threads, asyncio, numbers of errors.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string python(const std::string& program) {
  const RunResult result = make_sandbox()->run({.argv = {"python3", "-c", program}});
  EXPECT_EQ(result.stderr_data, "") << program;
  EXPECT_EQ(result.exit_code, 0) << program << "\n" << result.reason;
  return result.stdout_data;
}

TEST(PythonErrors, HaveLinuxNumbersAndTexts) {
  EXPECT_EQ(python(R"(
import errno, os
def tell(f, *a):
    try: f(*a)
    except OSError as e: print(type(e).__name__, e.errno == getattr(errno, errno.errorcode[e.errno]), e)
tell(open, '/none'); tell(open, '/usr/x', 'w'); tell(os.mkdir, '/tmp'); tell(os.rmdir, '/none')
tell(open, '/tmp'); tell(os.read, 99, 1); tell(open, '/' + 'a' * 300); tell(os.listdir, '/etc/passwd')
print(type(OSError(2, 'x')).__name__, os.strerror(13), errno.EAGAIN, errno.ENOTSUP))"),
            "FileNotFoundError True [Errno 2] No such file or directory: '/none'\n"
            "PermissionError True [Errno 13] Permission denied: '/usr/x'\n"
            "FileExistsError True [Errno 17] File exists: '/tmp'\n"
            "FileNotFoundError True [Errno 2] No such file or directory: '/none'\n"
            "IsADirectoryError True [Errno 21] Is a directory: '/tmp'\n"
            "OSError True [Errno 9] Bad file descriptor\n"
            "OSError True [Errno 36] File name too long: '/" +
                std::string(300, 'a') +
                "'\n"
                "NotADirectoryError True [Errno 20] Not a directory: '/etc/passwd'\n"
                "FileNotFoundError Permission denied 11 95\n");
}

TEST(PythonSignals, FromElsewhereReachHandlers) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.script = R"(
cat > h.py <<'END'
import os, signal, sys
def handler(number, frame):
    os.write(1, b"got %s\n" % signal.Signals(number).name.encode())  # print is not re-entrant
    if number == signal.SIGTERM: sys.exit(7)
for s in (signal.SIGUSR1, signal.SIGTERM): signal.signal(s, handler)
print("ready", flush=True)
while True: pass
END
mkfifo up; python3 h.py > up & child=$!
{ read line; echo $line; kill -USR1 $child; read line; echo $line; kill -TERM $child; read line; echo $line; } < up
wait $child; echo $?)"});
  EXPECT_EQ(result.stdout_data, "ready\ngot SIGUSR1\ngot SIGTERM\n7\n") << result.stderr_data;
}

TEST(PythonSignals, KeyboardInterruptAndTimers) {
  EXPECT_EQ(python(R"(
import signal
signal.signal(signal.SIGALRM, lambda *_: print('alarm'))
signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause(); print(signal.alarm(0))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    while True: pass
except KeyboardInterrupt: print('interrupted'))"),
            "alarm\n0\ninterrupted\n");
  const RunResult result = make_sandbox()->run(
      {.argv = {"python3", "-c",
                "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)"}});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.stderr_data, EndsWith("KeyboardInterrupt\n"));
}

TEST(PythonSignals, AHandlerThatRaisesAsAChildBeginsEndsNobody) {
  const RunResult result = make_sandbox()->run({.argv = {"python3", "-c", R"(
import os, subprocess
from _cloche.processes import posix_processes as children
def late(error):  # as a handler that runs when the exec has happened
    def raw(name, *words, **more):
        result = real(name, *words, **more)
        if name == 'execve' and result[0] > 0: raise error
        return result
    return raw
real = children.raw
for error in (RuntimeError('late'), TimeoutError('late')):
    children.raw = late(error)
    try: subprocess.run(['true'])
    except Exception as problem: print(repr(problem))
    children.raw = real
    print(os.wait()[1])
print(subprocess.run(['sh', '-c', 'exit 3']).returncode))"}});
  EXPECT_EQ(result.stdout_data, "RuntimeError('late')\n0\nTimeoutError('late')\n0\n3\n")
      << result.stderr_data;
  EXPECT_EQ(result.exit_code, 0);
}

TEST(PythonSignals, APipeThatNobodyReadsIsAnError) {
  const RunResult result = make_sandbox()->run({.script = R"(python3 -c '
import sys
try:
    while True: print(1)
except BrokenPipeError as e:
    print(e, file=sys.stderr)
    sys.stdout = None' | head -1)"});
  EXPECT_EQ(result.stderr_data, "[Errno 32] Broken pipe\n");
}

TEST(PythonCommandLine, BreakpointsAreWhatTheEnvironmentSays) {
  EXPECT_EQ(output_of(R"(
PYTHONBREAKPOINT=0 python3 -c 'print(breakpoint())'
PYTHONBREAKPOINT=os.getcwd python3 -c 'print(breakpoint())'
PYTHONBREAKPOINT=len python3 -c 'print(breakpoint("four"))'
PYTHONBREAKPOINT=none.such python3 -c 'print(breakpoint())' 2>&1
echo c | PYTHONBREAKPOINT=none.such python3 -E -c 'breakpoint()'
python3 -c 'raise SystemExit(2 ** 128)'; echo $?; python3 -c 'raise SystemExit(-1)'; echo $?)"),
            "None\n/workspace\n4\n"
            "<string>:1: RuntimeWarning: Ignoring unimportable $PYTHONBREAKPOINT: \"none.such\"\n"
            "None\n> <string>(1)<module>()\n(Pdb) 255\n255\n");
}

TEST(PythonCommandLine, HasTheUsualOptions) {
  EXPECT_EQ(output_of(R"(
python3 -O -c 'assert False; print(__debug__)'; python -W ignore -c 'import warnings; warnings.warn("x")'
python3.15 -I -c 'import sys; print(sys.flags.isolated, "" in sys.path)')"),
            "False\n1 False\n");
  EXPECT_EQ(output_of(R"(
mkdir p; echo 'import sys; print(__name__, sys.argv[1:])' > p/__main__.py; python3 -m p a
echo 'print(__file__)' > s.py; python3 s.py; printf '#!/usr/bin/env python3\nprint(1)\n' > x; chmod +x x; ./x
echo 'import sys; print(sys.argv)' | python3 - b; echo 'x + 1' | python3 -q -i -c 'x = 5' 2>/dev/null)"),
            "__main__ ['a']\n/workspace/s.py\n1\n['-', 'b']\n6\n");
}

TEST(PythonImports, HaveTerminalsDescriptionsByCurses) {
  EXPECT_EQ(python(R"(
import curses, curses.panel
try: curses.setupterm('no-such-terminal', 1)
except curses.error as error: print(error)
curses.setupterm('xterm-256color', 1)
print(curses.tigetstr('cup'), curses.tparm(curses.tigetstr('cup'), 3, 4), curses.tigetnum('colors'))
try: curses.panel.new_panel(None)
except TypeError as error: print('TypeError')
try: curses.doupdate()
except curses.error as error: print(error))"),
            "setupterm: could not find terminal\n"
            "b'\\x1b[%i%p1%d;%p2%dH' b'\\x1b[4;5H' 256\n"
            "TypeError\nmust call initscr() first\n");
}

// Its C code copies as many fields of sys.flags as it has itself, and counts a reference to each.
TEST(PythonFlags, AreAsManyAsTheInterpretersOwn) {
  EXPECT_EQ(python(R"(
import sys
ours, n = sys.flags, sys.flags.n_fields
sys.set_int_max_str_digits(5000)
print(type(sys.flags) is type(ours), sys.flags.n_fields == n, sys.flags.lazy_imports == ours.lazy_imports,
      sys.flags.int_max_str_digits, [name for name in ours.names if getattr(sys.flags, name) != getattr(ours, name)]))"),
            "False True True 5000 ['int_max_str_digits']\n");
}

// What C code that is linked into the interpreter is compiled with.
TEST(PythonExtensions, AreConfiguredAsTheInterpreterIs) {
  std::ifstream file(std::filesystem::path(CLOCHE_SOURCE_DIR) /
                     "userland/python/extensions/pyconfig.h");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox->files().write("/workspace/pyconfig.h", text));
  const RunResult result = sandbox->run({.argv = {"python3", "-c", R"(
import re, sysconfig
found = re.findall(r'^#define (\w+) (\d+)$', open('pyconfig.h').read(), re.M)
print(len(found) > 20, [(n, v, sysconfig.get_config_var(n)) for n, v in found if sysconfig.get_config_var(n) != int(v)]))"}});
  EXPECT_EQ(result.stdout_data, "True []\n") << result.stderr_data;
}

TEST(PythonThreads, AtTheLatestRunWhenSomebodyWaits) {
  EXPECT_EQ(python(R"(
import threading, queue, time
q, out = queue.Queue(maxsize=1), []
def consume():
    while (x := q.get()) is not None: out.append(x); q.task_done()
def produce():
    for i in range(4): q.put(i)
ts = [threading.Thread(target=f, daemon=True) for f in (consume, produce)]
for t in ts: t.start()
ts[1].join(); q.join(); q.put(None); ts[0].join(); print(out, ts[0].is_alive())
done = []
threading.Thread(target=lambda: done.append(1)).start()
while not done: time.sleep(0.001)
b = threading.Barrier(3); ts = [threading.Thread(target=b.wait) for _ in range(3)]
for t in ts: t.start()
for t in ts: t.join()
lock = threading.Lock(); print(lock.acquire(), lock.acquire(timeout=0.01))
threading.Thread(target=lambda: (time.sleep(0.05), print('last'))).start(); print('main ends'))"),
            "[0, 1, 2, 3] False\nTrue False\nmain ends\nlast\n");
}

TEST(PythonThreads, AServerInAThreadAnswersTheMainOne) {
  EXPECT_EQ(python(R"(
import asyncio, http.server, socket, subprocess, sys, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.path.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
thread = threading.Thread(target=server.serve_forever, daemon=True); thread.start()
url = f'http://127.0.0.1:{server.server_port}'
print([urllib.request.urlopen(f'{url}/{i}').read() for i in range(2)])
ask = f'import urllib.request; print(urllib.request.urlopen("{url}/x").read())'
print(subprocess.run([sys.executable, '-c', ask], capture_output=True, text=True).stdout.strip())
server.shutdown(); thread.join(); print(thread.is_alive())
one = socket.create_server(('127.0.0.1', 0))
def serve():
    with one.accept()[0] as c: c.sendall(c.recv(9).upper())
thread = threading.Thread(target=serve); thread.start()
with socket.create_connection(one.getsockname(), timeout=600) as c: c.sendall(b'hi'); print(c.recv(9))
thread.join()
loop = asyncio.new_event_loop(); thread = threading.Thread(target=loop.run_forever); thread.start()
print(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01, 'slept'), loop).result())
loop.call_soon_threadsafe(loop.stop); thread.join())"),
            "[b'/0', b'/1']\nb'/x'\nFalse\nb'HI'\nslept\n");
}

TEST(PythonThreads, ADeadlockIsAnErrorAndNotAHang) {
  const RunResult result =
      make_sandbox()->run({.argv = {"python3", "-c", "import queue; queue.Queue().get()"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.stderr_data, HasSubstr("RuntimeError: deadlock"));
}

TEST(PythonAsyncio, HasChildrenStreamsAndSignals) {
  EXPECT_EQ(python(R"(
import asyncio, os, signal
async def echo(r, w):
    w.write((await r.readline()).upper()); await w.drain(); w.close()
async def main():
    server = await asyncio.start_unix_server(echo, '/tmp/s')
    r, w = await asyncio.open_unix_connection('/tmp/s')
    w.write(b'hello\n'); print(await r.read()); w.close(); server.close()
    p = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    print(await p.communicate(b'x'), p.returncode)
    event = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, event.set)
    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.wait_for(event.wait(), 5); print('signal')
asyncio.run(main()))"),
            "b'HELLO\\n'\n(b'x', None) 0\nsignal\n");
}

TEST(PythonAsyncio, WaitsForAChildWithoutPipes) {
  EXPECT_EQ(python(R"(
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('sleep', '600')
    try: await asyncio.wait_for(p.wait(), 0.01)
    except TimeoutError: p.kill()
    print(await p.wait(), await (await asyncio.create_subprocess_exec('true')).wait())
asyncio.run(main()))"),
            "-9 0\n");
}

// What CPython's own test modules found, each as it is on Linux.
TEST(PythonAsyncio, KeepsAChildsNumberUntilItHasToldOfItsEnd) {
  EXPECT_EQ(python(R"(
import asyncio, os
async def main():
    child = await asyncio.create_subprocess_exec('sleep', '600')
    child.kill()
    for number in range(3):  # the loop does not run meanwhile
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        os.kill(child.pid, 0)
    print(child.returncode, await child.wait())
asyncio.run(main()))"),
            "None -9\n");
}

TEST(PythonOs, AsCPythonsOwnTestsExpectIt) {
  EXPECT_EQ(python(R"(
import os, shutil, signal, subprocess, select
def told(f):
    try: return f()
    except Exception as e: return type(e).__name__
sh = lambda text, f: subprocess.run(text, shell=True, preexec_fn=f, capture_output=True, text=True).stdout.strip()
print(sh('pwd', lambda: os.chdir('/tmp')), os.getcwd(), sh('umask', lambda: os.umask(0o77)), os.umask(0o22),
      sh('kill -INT $$; echo alive', lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)), signal.getsignal(2) is signal.default_int_handler,
      told(lambda: sh('true', lambda: 1 / 0)), told(lambda: sh('a\0b', None)))
os.chdir('/tmp'); os.symlink('x', 'l'); shutil.copy2('l', 'l2', follow_symlinks=False); print(os.readlink('l2'))
os.mkdir('d'); os.symlink('../x', 'd/l'); shutil.copytree('d', 'd2', symlinks=True); print(os.readlink('d2/l'))
print(told(lambda: os.chmod('l', 0o600, follow_symlinks=False)), told(lambda: select.select([object()], [], [], 0)))
got = []; signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); os.kill(os.getpid(), signal.SIGUSR1); print(got)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1]); print(got)
print(os.sysconf('SC_OPEN_MAX'), os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') == 1 << 30)
import time
cpu, wall = time.process_time(), time.monotonic(); time.sleep(0.2)
print(time.process_time() - cpu < (time.monotonic() - wall) / 2, os.times().elapsed >= wall, os.times().user < 1000))"),
            "/tmp /workspace 0077 18 alive True SubprocessError ValueError\nx\n../x\n"
            "NotImplementedError TypeError\n[]\n[1]\n1024 True\nTrue True True\n");
}

TEST(PythonLacks, AreHonestErrors) {
  const auto sandbox = make_sandbox();
  for (const auto& [program, words] : std::map<std::string, std::string>{
           {"import multiprocessing as m; m.get_context('fork')", "cannot find context for 'fork'"},
           {"from multiprocessing.shared_memory import SharedMemory as S; S(create=True, size=8)",
            "share no memory in this sandbox"},
           {"from multiprocessing.heap import Arena; Arena(8)", "share no memory in this sandbox"},
           {"import ctypes; ctypes.CDLL('libc.so.6')", "ctypes is unavailable"},
           {"import os; os.fork()", "no attribute 'fork'"}}) {
    const RunResult result = sandbox->run({.argv = {"python3", "-c", program}});
    EXPECT_EQ(result.exit_code, 1) << program;
    EXPECT_THAT(result.stderr_data, HasSubstr(words)) << program;
  }
  EXPECT_EQ(python("from multiprocessing.pool import ThreadPool\n"
                   "with ThreadPool(3) as p: print(p.map(abs, [-1, 2]), p.starmap(max, [(1, 2)]))"),
            "[1, 2] [2]\n");
}

}  // namespace
}  // namespace cloche::testing

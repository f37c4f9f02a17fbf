// SPDX-License-Identifier: Apache-2.0
// What programs in Python ask of the system: children, owners and permissions, the end of a
// program, and frames of the guest's own door that are no frames.
#include <gmock/gmock.h>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What a program prints; its lines are joined by "\n".
std::string python(const std::string& program, const SandboxOptions& options = {}) {
  const RunResult result = make_sandbox(options)->run({.argv = {"python3", "-c", program}});
  EXPECT_EQ(result.stderr_data, "") << program;
  EXPECT_EQ(result.exit_code, 0) << program << "\n" << result.reason;
  return result.stdout_data;
}

TEST(PythonChildren, SubprocessRunsAndReadsThem) {
  EXPECT_EQ(python("import subprocess as s; print(s.run(['tr', 'a-z', 'A-Z'], input='abc', "
                   "capture_output=True, text=True).stdout)"),
            "ABC\n");
  EXPECT_EQ(python("import subprocess as s; r = s.run('echo out; echo err >&2; exit 3', "
                   "shell=True, capture_output=True)\n"
                   "print(r.returncode, r.stdout, r.stderr)"),
            "3 b'out\\n' b'err\\n'\n");
  EXPECT_EQ(python("import subprocess as s\n"
                   "a = s.Popen(['seq', '5'], stdout=s.PIPE); b = s.Popen(['wc', '-l'], "
                   "stdin=a.stdout, stdout=s.PIPE)\n"
                   "print(b.communicate()[0].strip(), a.wait())"),
            "b'5' 0\n");
}

TEST(PythonChildren, TheirEndsAreTold) {
  EXPECT_EQ(python("import subprocess as s\n"
                   "try: s.run(['no-such-program'])\n"
                   "except FileNotFoundError as e: print(e.filename)"),
            "no-such-program\n");
  EXPECT_EQ(python("import subprocess as s\n"
                   "try: s.run(['sleep', '30'], timeout=0.05)\n"
                   "except s.TimeoutExpired: print('late')"),
            "late\n");
  EXPECT_EQ(
      python(
          "import subprocess as s; p = s.Popen(['sleep', '30']); p.terminate(); print(p.wait())"),
      "-15\n");
  EXPECT_EQ(python("import os; print(os.waitstatus_to_exitcode(os.system('exit 4')))"), "4\n");
}

TEST(PythonChildren, HaveItsDirectoryAndEnvironment) {
  EXPECT_EQ(python("import os, subprocess as s; os.mkdir('/tmp/d'); os.chdir('/tmp/d'); "
                   "os.environ['A'] = 'b'\n"
                   "print(s.check_output('pwd; echo $A', shell=True, text=True), end='')"),
            "/tmp/d\nb\n");
}

TEST(PythonFiles, HaveOwnersAndPermissions) {
  EXPECT_EQ(python("import os; open('f', 'w').close(); os.chmod('f', 0o640); s = os.stat('f')\n"
                   "print(oct(s.st_mode), s.st_uid, os.getuid())"),
            "0o100640 1000 1000\n");
  EXPECT_EQ(python("import os, tempfile; print(oct(os.stat(tempfile.mkdtemp()).st_mode))"),
            "0o40700\n");
  EXPECT_EQ(
      python("try: open('/usr/lib/python3.15/x', 'w')\nexcept PermissionError: print('refused')"),
      "refused\n");
}

// tests/python_programs/local_time.py has the zones themselves.
TEST(PythonLocalTime, IsThatOfTheEnvironmentAtTheStart) {
  constexpr const char* question =
      "import time, datetime as d; print(time.tzname, time.localtime(1700000000).tm_hour, "
      "d.datetime.fromtimestamp(1700000000).astimezone().utcoffset(), time.strftime('%Z'))";
  const auto sandbox = make_sandbox({.environment = {{"TZ", "Asia/Tokyo"}}});
  const std::string tokyo = "('JST', 'JST') 7 9:00:00 JST\n";
  EXPECT_EQ(sandbox->run({.argv = {"python3", "-c", question}}).stdout_data, tokyo);
  EXPECT_EQ(sandbox->run_python(question).stdout_data, tokyo);
  EXPECT_EQ(sandbox->fork()->run_python(question).stdout_data, tokyo);
  EXPECT_EQ(
      sandbox->run({.argv = {"python3", "-c", question}, .environment = {{"TZ", "Asia/Kolkata"}}})
          .stdout_data,
      "('IST', 'IST') 3 5:30:00 IST\n");
  const std::string utc = "('UTC', 'UTC') 22 0:00:00 UTC\n";
  EXPECT_EQ(sandbox->run({.argv = {"env", "-u", "TZ", "python3", "-c", question}}).stdout_data,
            utc);
  EXPECT_EQ(sandbox->run({.argv = {"env", "TZ=UTC", "python3", "-c", question}}).stdout_data, utc);
  EXPECT_EQ(make_sandbox()->run({.argv = {"python3", "-c", question}}).stdout_data, utc);
}

// A zone may be a file of the user's; one that is none, or does not end, is UTC.
TEST(PythonLocalTime, TakesFilesOfTheUserAndRefusesWhatIsNone) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.script = R"(
cp /usr/share/zoneinfo/Asia/Tokyo mine; head -c 60 mine >cut; mkfifo fifo; head -c 3000000 /dev/zero >big
for zone in mine cut fifo big . /dev/zero; do
  TZ=/workspace/$zone timeout 10 python3 -c 'import time; print(time.tzname, time.localtime(0).tm_hour)'
done
TZ=/dev/zero timeout 10 python3 -c 'import time; print(time.localtime(0).tm_hour)')"});
  EXPECT_EQ(result.stdout_data,
            "('JST', 'JST') 9\n('', '') 0\n('', '') 0\n('', '') 0\n('', '') 0\n('', '') 0\n0\n")
      << result.stderr_data;
}

// Where the build had it (userland/python/library_sources.py).
TEST(PythonLibrary, HasTheTextOfTheVeryCodeThatRuns) {
  const auto sandbox = make_sandbox({.timeout = std::chrono::minutes(4)});
  if (sandbox->run({.script = "test -e /usr/lib/python3.15/json/encoder.py"}).exit_code != 0)
    GTEST_SKIP() << "this build has no source text of the library";
  const RunResult compared = sandbox->run({.argv = {"python3", "-c", R"(
import marshal, os, types
def same(a, b):
    if type(a) is not type(b): return False
    if isinstance(a, types.CodeType):
        names = [n for n in dir(a) if n.startswith('co_') and not callable(getattr(a, n))]
        return all(same(getattr(a, n), getattr(b, n)) for n in names if n not in ('co_filename', 'co_lnotab'))
    if isinstance(a, tuple): return len(a) == len(b) and all(map(same, a, b))
    return a == b and (isinstance(a, frozenset) or repr(a) == repr(b))
count = 0
for folder, _, names in os.walk('/usr/lib/python3.15'):
    for name in names if os.path.basename(folder) == '__pycache__' else ():
        source = os.path.join(os.path.dirname(folder), name.replace('.cpython-315.pyc', '.py'))
        code = marshal.loads(open(os.path.join(folder, name), 'rb').read()[16:])
        if not same(code, compile(open(source, 'rb').read(), source, 'exec', dont_inherit=True)): print('other code', source)
        if code.co_filename != source: print('other name', source)
        count += 1
print(count > 400)
)"}});
  EXPECT_EQ(compared.stdout_data, "True\n") << compared.stderr_data;
  const RunResult shown = sandbox->run({.argv = {"python3", "-c", R"(
import inspect, json, os, textwrap, wave
print(json.__file__, os.__file__, wave.__file__, inspect.getsource(textwrap.dedent).partition('\n')[0])
json.dumps({1: object()}))"}});
  EXPECT_EQ(shown.stdout_data,
            "/usr/lib/python3.15/json/__init__.py /usr/lib/python3.15/os.py "
            "/usr/lib/python3.15/wave.py def dedent(text):\n");
  EXPECT_THAT(shown.stderr_data, HasSubstr("json/encoder.py\", line 263, in iterencode\n"
                                           "    return _iterencode(o, 0)\n"));
}

TEST(PythonEnd, FlushesFilesAndRunsFinalizers) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.argv = {"python3", "-c",
                                                  "import atexit\n"
                                                  "class A:\n  def __del__(self): print('gone')\n"
                                                  "a = A(); atexit.register(print, 'atexit'); f = "
                                                  "open('left-open', 'w'); f.write('kept')"}});
  EXPECT_EQ(result.stdout_data, "atexit\ngone\n") << result.stderr_data;
  EXPECT_EQ(sandbox->run({.script = "cat left-open"}).stdout_data, "kept");
}

TEST(PythonEnd, StatusesAreThoseOfCPython) {
  const auto status = [](const std::string& program) {
    return make_sandbox()->run({.argv = {"python3", "-c", program}}).exit_code;
  };
  EXPECT_EQ(status("import os; os._exit(9)"), 9);
  EXPECT_EQ(status("import sys; sys.exit('words')"), 1);
  EXPECT_EQ(status("raise KeyboardInterrupt"), 130);
  EXPECT_EQ(status("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"), 143);
  EXPECT_EQ(make_sandbox()->run({.argv = {"python3", "--no-such-option"}}).exit_code, 2);
  EXPECT_EQ(make_sandbox()->run({.argv = {"python3", "no-such-file.py"}}).exit_code, 2);
}

TEST(PythonPackages, TheErrorNamesTheCommand) {
  const RunResult result = make_sandbox()->run({.argv = {"python3", "-c", "import numpy"}});
  EXPECT_THAT(result.stderr_data, HasSubstr("pip install numpy"));
  EXPECT_EQ(python("import importlib.util; print(importlib.util.find_spec('numpy'))"), "None\n");
}

TEST(PythonPackages, APlotIsAnImage) {
  const auto sandbox = make_sandbox({.packages = {"matplotlib"}});
  const RunResult result =
      sandbox->run({.argv = {"python3", "-c",
                             "import matplotlib.pyplot as p; p.plot([1, 3, 2]); "
                             "p.savefig('a.png'); p.savefig('a.svg')"},
                    .timeout = std::chrono::minutes(4)});  // it makes its list of fonts first
  EXPECT_EQ(result.exit_code, 0) << result.stderr_data;
  EXPECT_THAT(sandbox->run({.script = "head -c 4 a.png | tail -c 3; head -c 5 a.svg"}).stdout_data,
              StartsWith("PNG<?xml"));
}

// The frames are the guest's, so they may be anything; each is refused and nothing else happens.
TEST(PythonDoor, RefusesWhatIsNoFrame) {
  EXPECT_EQ(python("import _host, struct\n"
                   "def refused(frame):\n"
                   "  try: _host.call(bytearray(frame)); return False\n"
                   "  except OSError: return True\n"
                   "print(refused(b''), refused(b'sys0'), refused(b'x' * 64), refused(b'imm0' + "
                   "b'\\xff' * 8),\n"
                   "      refused(b'imm0' + bytes(1 << 20)), refused(b'pok0'),\n"
                   "      refused(b'pok0\\xff\\xff\\xff\\xff12'))"),
            "True True True True True True True\n");
}

TEST(PythonDoor, RefusesWildPointersAndForeignCalls) {
  EXPECT_EQ(
      python("import _host, struct\n"
             "def result(number, marks, *words, data=b''):\n"
             "  f = bytearray(struct.pack('<4s8I', b'sys0', number, marks, *(words + (0,) * (6 - "
             "len(words)))) + data)\n"
             "  _host.call(f); return struct.unpack_from('<q', f)[0]\n"
             "print(result(49, 1, 0xFFFFFFF0), result(49, 0, 0xFFFFFFF0))\n"  // chdir, out of the
                                                                              // frame and of memory
             "print(result(221, 0x202, 0, 0, 0, data=b'\\1\\0\\0\\0' * 8))\n"  // execve, an array
                                                                               // without an end
             "print(result(214, 0), result(220, 0), result(0xFFFFFFFF, 0))\n"  // brk, clone, none
                                                                               // at all
             "print(result(134, 2, 15, 0, 0, 8, data=b'\\7' * 16))"),          // a handler
      "-14 -14\n-14\n-38 -38 -38\n-22\n");
}

}  // namespace
}  // namespace cloche::testing

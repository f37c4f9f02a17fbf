// SPDX-License-Identifier: Apache-2.0
// The linux engine at the doors of the program: the command line, JSON-RPC, and the Python SDK.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "../program_testing.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

using cloche::testing::bash;
using cloche::testing::Ended;

class LinuxEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    std::string name = (fs::temp_directory_path() / "cloche-images-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    store_ = name;
    fs::permissions(store_, fs::perms(0755));
    ::setenv("CLOCHE_IMAGES", name.c_str(), 1);
    ASSERT_EQ(bash("$CLOCHE image import " + test_image().string() + " --name small").said,
              "small\n");
  }
  void TearDown() override {
    std::error_code error;
    if (!store_.empty()) fs::remove_all(store_, error);
  }

  // A program of the SDK, for this machine's Python.
  static Ended python(const std::string& source) {
    ::setenv("SOURCE", source.c_str(), 1);
    return bash("CLOCHE_BINARY=$CLOCHE CLOCHE_PROGRAM=$CLOCHE PYTHONPATH=" CLOCHE_SOURCE_DIR
                "/sdk/python/src:" CLOCHE_SOURCE_DIR
                "/tests/http PYTHONDONTWRITEBYTECODE=1 python3 -c \"$SOURCE\"");
  }

  fs::path store_;
};

TEST_F(LinuxEngine, RunsCommandsOfTheLine) {
  const std::string run = "$CLOCHE run --engine linux --image small ";
  EXPECT_EQ(bash("echo in | " + run + "'cat; pwd; id -u; exit 3'; echo $?").said,
            "in\n/workspace\n0\n3\n");
  EXPECT_EQ(bash(run + "--user 1000:1001 'id -u; id -g'").said, "1000\n1001\n");
  EXPECT_EQ(bash(run + "--timeout 200 'setsid sleep 1000 & sleep 1000'").status, 124);
  EXPECT_EQ(bash(run + "--env A=b --cwd /tmp 'echo $A $PWD' 2>&1").said, "b /tmp\n");
}

// Whatever this machine lets a process open: the command runs, or a sentence says what is missing.
TEST_F(LinuxEngine, WithFewDescriptorsACommandRunsOrTheReasonIsSaid) {
  const std::string run = "; $CLOCHE run --engine linux --image small 'echo in' 2>&1";
  for (int most = 16; most <= 96; most += 4) {
    const Ended ended = bash("ulimit -n " + std::to_string(most) + run);
    if (ended.status == 0) {
      EXPECT_EQ(ended.said, "in\n") << most;
    } else {
      EXPECT_THAT(ended.said, ::testing::ContainsRegex("cloche: .*(descriptors|open)")) << most;
      EXPECT_LT(most, 48) << ended.said;
    }
  }
}

TEST_F(LinuxEngine, ImagesAreListedAndRemoved) {
  EXPECT_TRUE(bash("$CLOCHE image list").said.starts_with("small "));
  EXPECT_NE(bash("$CLOCHE image list --json").said.find(R"("name": "small")"), std::string::npos);
  EXPECT_EQ(bash("$CLOCHE image remove small").status, 0);
  EXPECT_EQ(bash("$CLOCHE image list").said, "");
}

TEST_F(LinuxEngine, WhatCommandsMakeOfAnImageIsAnImage) {
  const std::string commit = "$CLOCHE image commit --image small ";
  EXPECT_EQ(bash(commit + "--env WORD=kept made 'echo doing; mkdir -p /opt/app; echo text "
                          ">/opt/app/f; ln /opt/app/f /opt/g; rm -r /var; chmod 640 /opt/app/f'")
                .said,
            "doing\nmade\n");
  const std::string run = "$CLOCHE run --engine linux --image made ";
  EXPECT_EQ(bash(run + "'cat /opt/g; stat -c %a:%h /opt/app/f; ls -d /var 2>&1 | grep -c such; "
                       "echo $WORD; pwd'")
                .said,
            "text\n640:2\n1\nkept\n/workspace\n");
  // Upon itself; and what it was made of is as it was.
  EXPECT_EQ(bash("$CLOCHE image commit --image made made 'echo more >>/opt/app/f'").said, "made\n");
  // (What is written to a file of an image by one name is not there by its other.)
  EXPECT_EQ(bash(run + "'cat /opt/app/f /opt/g'").said, "text\nmore\ntext\n");
  EXPECT_EQ(bash("$CLOCHE run --engine linux --image small 'ls -d /var /opt/app 2>&1'").status, 2);
  EXPECT_EQ(
      bash("$CLOCHE image remove small && " + run + "'head -1 /opt/g; sh -c \"echo $WORD\"'").said,
      "text\nkept\n");
  // A command that fails makes none.
  EXPECT_EQ(bash("$CLOCHE image commit --image made other 'echo half >/half; exit 5' 2>&1").said,
            "cloche: the command ended with status 5: no image was made\n");
  EXPECT_EQ(bash("$CLOCHE image list | cut -d' ' -f1").said, "made\n");
}

TEST_F(LinuxEngine, AnExportedStateIsAnImage) {
  const Ended ended = python(R"py(
import cloche, subprocess, os, tempfile
with tempfile.TemporaryDirectory() as folder:
    state = folder + "/box.state"
    with cloche.Sandbox(engine="linux", image="small") as box:
        box.commands.run("echo text >/etc/mine; rm /etc/group")
        box.export(state)
    commit = [os.environ["CLOCHE"], "image", "commit", "--image", "small", "--state", state, "mine"]
    print(subprocess.run(commit, capture_output=True, text=True).stdout, end="")
    with cloche.Sandbox(engine="linux", image="mine") as box:
        print(box.commands.run("cat /etc/mine; ls /etc/group").stdout)
    open(state, "r+b").truncate(os.path.getsize(state) - 9)
    print(subprocess.run(commit, capture_output=True, text=True).stderr, end="")
    with cloche.Sandbox(engine="linux", image="mine") as box:
        print(box.commands.run("cat /etc/mine").stdout, end="")
)py");
  EXPECT_EQ(ended.said,
            "mine\ntext\n\ncloche: this is no state of a sandbox, or it is damaged\ntext\n");
}

TEST_F(LinuxEngine, WhatItHasNotIsOneSentence) {
  const std::array lines{"run --engine linux true",
                         "run --engine linux --image other true",
                         "run --engine linux --image small --net 'no rule' true",
                         "run --engine linux --image small --packages numpy true",
                         "run --engine linux --image small --user somebody true",
                         "run --engine linux --image small --mount /nonexistent:/x true",
                         "run --engine linux --image small --mount /tmp:/etc/passwd true",
                         "run --engine linux --image small --mount /tmp:relative true",
                         "run --engine other true",
                         "image remove other",
                         "image import /nowhere",
                         "image make fedora",
                         "image commit made true",
                         "image commit --image other made true",
                         "image commit --image small made",
                         "image commit --image small",
                         "image commit --image small ../made true",
                         "image commit --engine wasm --image small made true",
                         "image commit --image small --state /nowhere made true",
                         "image commit --image small --out f:g made true",
                         "serve --session-engine linux --session-image other"};
  for (const char* line : lines) {
    const Ended ended = bash(std::string("$CLOCHE ") + line);
    EXPECT_EQ(ended.status, 2) << line << ": " << ended.said;
    EXPECT_TRUE(ended.said.starts_with("cloche")) << line << ": " << ended.said;
    EXPECT_EQ(ended.said.find('\n'), ended.said.size() - 1) << line << ": " << ended.said;
  }
}

TEST_F(LinuxEngine, ListsOfPackagesAreOneWord) {
  EXPECT_EQ(bash("$CLOCHE image make --packages gcc,make fedora").said,
            "cloche: image make knows debian: cloche image make debian\n");
}

TEST_F(LinuxEngine, IsAtHandInTheSdk) {
  const Ended ended = python(R"py(
import cloche
with cloche.Sandbox(engine="linux", image="small", env={"A": "b"}) as box:
    print(box.commands.run("x=1; echo $A; cd /tmp").stdout, end="")
    print(box.commands.run("echo $x; pwd").stdout, end="")
    box.files.write("f/g", "text")
    print(box.commands.run("cat /workspace/f/g").stdout)
    with box.fork() as twin:
        twin.commands.run("echo twin >/workspace/f/g")
        print(twin.files.read_text("f/g"), box.files.read_text("f/g"))
try:
    cloche.Sandbox(engine="linux", image="other")
except Exception as problem:
    print(problem)
)py");
  EXPECT_EQ(ended.said,
            "b\n1\n/tmp\ntext\ntwin\n text\nENOENT: there is no image 'other': `cloche image "
            "pull`, `import` and "
            "`make debian` make some\n");
}

// The server is in a jail, which starts no programs: what makes boxes has begun before.
TEST_F(LinuxEngine, SessionsOfAServerHaveItWhereTheOperatorSaysSo) {
  const Ended ended = python(R"py(
import os, pathlib, server, cloche
os.environ["CLOCHE_READY_BOXES"] = "0"  # they are counted
linux = ["--session-engine", "linux", "--session-image", "small"]
with server.Server("serve", "--token", "t", *linux) as one:
    session = one.json("POST", "/v1/sessions", {}, token="t")[1]["sessionId"]
    octets = {"Content-Type": "application/octet-stream"}
    one.ask("POST", f"/v1/sessions/{session}/files?path=f", b"by REST", token="t", headers=octets)
    with cloche.Sandbox(url=one.url, token="t", session_id=session) as box:
        print(box.commands.run("uname -n; cat f; x=1").stdout)
        print(box.commands.run("echo $x; (exit 3)").exit_code)
    with cloche.Sandbox(url=one.url, token="t") as box, cloche.Sandbox(url=one.url, token="t") as other:
        box.files.write("f", "mine")
        print(box.commands.run("cat f").stdout, other.files.exists("f"))
    children = lambda of: pathlib.Path(f"/proc/{of}/task/{of}/children").read_text().split()
    warden = children(children(one.process.pid)[0])[0]
    box = pathlib.Path(f"/proc/{warden}/task/{warden}/children")
    mounters = 1 if os.geteuid() == 0 else 0
    server.until(lambda: len(box.read_text().split()) == 1 + mounters, "one session has a box")
server.until(lambda: not pathlib.Path(f"/proc/{warden}").exists(), "nothing is left")
with server.Server("serve", "--token", "t") as one:
    try:
        cloche.Sandbox(url=one.url, token="t", engine="linux")
    except Exception as problem:
        print(problem)
)py");
  EXPECT_EQ(ended.said,
            "cloche\nby REST\n3\nmine False\n"
            "EACCES: 'engine' may not be linux here: ask for what this server allows, or have its "
            "operator say --allow-session-engine\n");
}

// Folders deeper than what writes them goes.
TEST_F(LinuxEngine, AGuestWhoseFilesCannotBeSavedLeavesTheServerReady) {
  const Ended ended = python(R"py(
import tempfile, server
linux = ["--session-engine", "linux", "--session-image", "small"]
deep = "p=$(printf 'd/%.0s' {1..100}); mkdir t; for i in {1..30}; do mkdir -p n/$p && mv t n/$p && mv n t; done"
with tempfile.TemporaryDirectory() as states, server.Server("serve", "--token", "t", "--state-dir", states, *linux) as one:
    session = one.json("POST", "/v1/sessions", {}, token="t")[1]["sessionId"]
    run = lambda command: one.json("POST", f"/v1/sessions/{session}/commands", {"command": command}, token="t")[1]
    told = run(deep)
    print(told.get("details", {}).get("reason"), one.ask("GET", "/ready")[0], "is not saved" in one.log())
    print(run("rm -r t; echo gone")["stdout"])
)py");
  EXPECT_EQ(ended.said, "NOT_SAVED 200 True\ngone\n\n");
}

TEST_F(LinuxEngine, HasANetworkByRulesAtEveryDoor) {
  const Ended ended = python(R"py(
import http.server, os, subprocess, threading, server, cloche
heard = []
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"page\n")
        heard.append(self.headers["Authorization"])
    def log_message(self, *_):
        pass
pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=pages.serve_forever, daemon=True).start()
rule = f"localhost:{pages.server_address[1]}"
host, port = rule.split(":")
get = f"exec 3<>/dev/tcp/{host}/{port} && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && tail -n 1 <&3"
image = ["--engine", "linux", "--image", "small"]
def line(*words):
    done = subprocess.run([os.environ["CLOCHE"], "run", *image, *words, get], capture_output=True, text=True)
    print(done.stdout.strip(), done.returncode)
line("--net", rule)
line("--net", rule, "--net-deny", "*")
line()
for rules in [rule], {"allow": [rule], "deny": ["localhost"]}:
    with cloche.Sandbox(engine="linux", image="small", network=rules) as box:
        print(box.commands.run(get).stdout.strip())
ask = f"printf 'GET / HTTP/1.1\r\nHost: {rule}\r\nAuthorization: %s\r\nConnection: close\r\n\r\n' $KEY >&3"
secrets = {"KEY": {"value": "the-value", "hosts": ["localhost"]}}
with cloche.Sandbox(engine="linux", image="small", network={"allow": [rule], "secrets": secrets}) as box:
    page = box.commands.run(f"exec 3<>/dev/tcp/{host}/{port} && {ask} && tail -n 1 <&3").stdout.strip()
    print(page, heard[-1], "the-value" in box.commands.run("env").stdout)
linux = ["--session-engine", "linux", "--session-image", "small", "--session-net", rule]
with server.Server("serve", "--token", "t", *linux) as one:
    with cloche.Sandbox(url=one.url, token="t") as box:
        print(box.commands.run(get).stdout.strip())
)py");
  EXPECT_EQ(ended.said, "page 0\n 1\n 1\npage\n\npage the-value False\npage\n");
}

// What the SDK promises of its sessions, and of python.execute.
TEST_F(LinuxEngine, HasThePythonSessionsOfTheSdk) {
  if (!test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  const Ended ended = bash("cd " CLOCHE_SOURCE_DIR
                           "/sdk/python/tests && CLOCHE_TEST_IMAGE=small CLOCHE_BINARY=$CLOCHE "
                           "PYTHONPATH=../src python3 -B -m unittest test_sdk_python_session 2>&1");
  EXPECT_EQ(ended.status, 0) << ended.said;
  const Ended figures = python(R"py(
import cloche
with cloche.Sandbox(engine="linux", image="small") as box:
    ran = box.python.execute("x = 6\nprint('out')\nx * 7", figures=True)
    print(ran.result, ran.stdout.strip(), ran.figures)
    print(box.python.execute("1 / 0").stderr.splitlines()[-1])
    twin = box.fork()
    print(twin.python.execute("x").result)
import server
with server.Server("serve", "--token", "t", "--session-engine", "linux", "--session-image", "small") as one:
    with cloche.PythonSession(url=one.url, token="t", callbacks={"twice": lambda n: 2 * n}) as session:
        print(session.execute("await twice(n=21)").value)
)py");
  EXPECT_EQ(figures.said, "42 out []\nZeroDivisionError: division by zero\n6\n42\n");
}

TEST_F(LinuxEngine, HasTheToolsOfAgents) {
  ASSERT_EQ(bash("cp -a $CLOCHE_IMAGES/small $CLOCHE_IMAGES/elsewhere && sed -i "
                 "'s/\"WorkingDir\": \"\"/\"WorkingDir\": \"\\/srv\"/' "
                 "$CLOCHE_IMAGES/elsewhere/image.json && grep -c /srv "
                 "$CLOCHE_IMAGES/elsewhere/image.json")
                .said,
            "1\n");
  const std::string words = test_image_has_python() ? " --python" : "";
  const Ended ended =
      bash("CLOCHE_PROGRAM=$CLOCHE python3 -B " CLOCHE_SOURCE_DIR "/tests/mcp/linux_boxes.py" +
           words + " 2>&1");
  EXPECT_EQ(ended.status, 0) << ended.said;
}

// Kept with the shell and the live Python, which go on from there.
TEST_F(LinuxEngine, HasSnapshots) {
  const Ended ended = python(R"py(
import cloche
with cloche.Sandbox(engine="linux", image="small") as box:
    box.commands.run("echo then >f; x=1")
    saved = box.snapshot()
    box.commands.run("echo now >f; x=2; rm -f /etc/passwd")
    box.restore(saved)
    print(box.commands.run("cat f; echo $x; ls /etc/passwd").stdout, end="")
)py");
  EXPECT_EQ(ended.said, "then\n1\n/etc/passwd\n");
}

TEST_F(LinuxEngine, HasStatesAsFiles) {
  const Ended ended = python(R"py(
import os, tempfile, cloche
path = os.path.join(tempfile.mkdtemp(), "state")
with cloche.Sandbox(engine="linux", image="small", env={"A": "b"}) as box:
    box.commands.run("echo then >f; chmod 700 f; rm /etc/group")
    box.export(path)
    state = box.export()
    box.commands.run("echo now >f; echo >/etc/group")
    box.load(path)
    print(box.commands.run("cat f; stat -c %a f; ls /etc/group; echo $A").stdout, end="")
with cloche.Sandbox(engine="linux", image="small") as other:
    other.load(state)
    print(other.commands.run("cat f; echo $A").stdout, end="")
with cloche.Sandbox() as wasm:
    try:
        wasm.load(state)
    except Exception as problem:
        print(problem)
)py");
  EXPECT_EQ(ended.said,
            "then\n700\nb\nthen\nb\nEOPNOTSUPP: this is no state of this sandbox's engine: say "
            "engine and image as they were\n");
}

// A server is ended, and another one goes on with its sessions.
TEST_F(LinuxEngine, SessionsOfAServerAreSaved) {
  const Ended ended = python(R"py(
import shutil, tempfile, server, cloche
folder = tempfile.mkdtemp()
words = ["serve", "--token", "t", "--session-engine", "linux", "--session-image", "small", "--state-dir", folder]
with server.Server(*words) as one:
    session = one.json("POST", "/v1/sessions", {}, token="t")[1]["sessionId"]
    with cloche.Sandbox(url=one.url, token="t", session_id=session) as box:
        box.commands.run("mkdir -p d; echo kept >d/f; ln d/f g; rm /etc/group; export X=1")
        box.files.write("large", bytes(range(256)) * 10_000)
for attempt in range(2):
    with server.Server(*words) as two:
        with cloche.Sandbox(url=two.url, token="t", session_id=session) as box:
            print(box.commands.run("cat d/f; stat -c %h g; ls /etc/group 2>&1 | grep -c 'No such'").stdout.split(),
                  box.files.read("large") == bytes(range(256)) * 10_000)
            box.commands.run("echo more >>d/f")
shutil.rmtree(folder)
)py");
  EXPECT_EQ(ended.said, "['kept', '2', '1'] True\n['kept', 'more', '2', '1'] True\n");
}

// What the tests below have of a server: what makes its boxes, and what begins that.
const char* const wardens = R"py(
import hashlib, os, pathlib, re, shutil, signal, tempfile, server
words = ["serve", "--token", "t", "--session-engine", "linux", "--session-image", "small"]
def children(process):
    return [int(child) for threads in pathlib.Path("/proc", str(process), "task").glob("*/children")
            for child in threads.read_text().split()]
def starters(one):
    return [child for child in children(one.process.pid)
            if pathlib.Path("/proc", str(child), "comm").read_text() == "cloche-starter\n"]
def end(processes):
    for process in processes:
        os.kill(process, signal.SIGKILL)
def end_wardens(one):
    end(warden for starter in starters(one) for warden in children(starter))
def make(one):
    return one.json("POST", "/v1/sessions", {}, token="t")
def run(one, session, command):
    return one.json("POST", f"/v1/sessions/{session}/commands", {"command": command}, token="t")
def is_over(one, session):
    server.until(lambda: run(one, session, "true")[0] != 200, "its sandbox has ended")
)py";

// In its jail it can start no program: another one stands ready.
TEST_F(LinuxEngine, AServerWhoseWardenWasKilledGoesOn) {
  const Ended ended = python(std::string(wardens) + R"py(
with server.Server(*words) as one:
    session = make(one)[1]["sessionId"]
    print(one.json("GET", "/ready")[0])
    end_wardens(one)
    is_over(one, session)
    print(run(one, session, "true")[1]["message"])
    shown = one.json("GET", f"/v1/sessions/{session}", token="t")[1]
    print(shown["status"], shown["reason"])
    print(one.json("GET", f"/v1/sessions/{session}/files?filePath=/etc/passwd", token="t")[0],
          one.json("POST", f"/v1/sessions/{session}/pause", token="t")[0],
          one.json("POST", f"/v1/sessions/{session}/resume", token="t")[0])
    print(run(one, make(one)[1]["sessionId"], "echo new")[1]["stdout"].strip(), one.json("GET", "/ready")[0])
    print(one.json("DELETE", f"/v1/sessions/{session}", token="t")[0],
          one.json("GET", f"/v1/sessions/{session}", token="t")[0])
    print(re.search(r"(?m)^cloche_linux_engine_ends_total (.*)", one.ask("GET", "/metrics", token="t")[2].decode())[1],
          one.log().count("linux_engine_ended"))
)py");
  EXPECT_EQ(ended.said,
            "200\nthe sandbox has ended: something outside of it has ended its first process\n"
            "failed the sandbox has ended: something outside of it has ended its first process\n"
            "409 409 409\nnew 200\n200 404\n1 1\n");
}

TEST_F(LinuxEngine, AClientOfSshHearsWhyItsSessionIsOfNoUse) {
  const Ended ended = python(std::string(wardens) + R"py(
import subprocess
folder = tempfile.mkdtemp()
with server.Server(*words, ssh=True) as one:
    public = server.new_ssh_key(folder + "/key")
    session = one.json("POST", "/v1/sessions", {"sshPublicKey": public}, token="t")[1]["sessionId"]
    def log_in():
        done = subprocess.run(["ssh", "-F", "/dev/null", "-i", folder + "/key", "-p", str(one.ssh_port),
                               "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                               "-o", "BatchMode=yes", f"sandbox+{session}@127.0.0.1", "echo in"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout + "".join(re.findall(r"Received disconnect.*:\d+: (.*\n)", done.stderr))
    print(log_in(), end="")
    one.json("POST", f"/v1/sessions/{session}/pause", token="t")
    print(log_in(), end="")
    one.json("POST", f"/v1/sessions/{session}/resume", token="t")
    end_wardens(one)
    is_over(one, session)
    print(log_in(), end="")
shutil.rmtree(folder)
)py");
  EXPECT_EQ(ended.said,
            "in\nthe session is paused: resume it first\n"
            "the sandbox has ended: something outside of it has ended its first process\n");
}

TEST_F(LinuxEngine, ASavedSessionWhoseBoxWasKilledComesBack) {
  const Ended ended = python(std::string(wardens) + R"py(
folder = tempfile.mkdtemp()
with server.Server(*words, "--state-dir", folder) as one:
    session, paused, late = (make(one)[1]["sessionId"] for which in range(3))
    for which in session, paused, late:
        run(one, which, "echo kept >f")
    one.json("POST", f"/v1/sessions/{paused}/pause", token="t")
    end_wardens(one)
    ask = lambda: one.ask("POST", f"/v1/sessions/{session}/commands", {"command": "cat f"}, token="t")[1]
    server.until(lambda: ask().get("X-Cloche-Restarted") == "true", "it is read again")
    for attempt in range(2):
        status, fields, answer = one.ask("POST", f"/v1/sessions/{session}/commands", {"command": "cat f"}, token="t")
        print(status, "kept" in answer.decode(), fields.get("X-Cloche-Restarted"))
    one.json("POST", f"/v1/sessions/{late}/pause", token="t")
    for which in paused, late:
        print(one.json("GET", f"/v1/sessions/{which}", token="t")[1]["status"],
              one.json("POST", f"/v1/sessions/{which}/resume", token="t")[0],
              run(one, which, "cat f")[1]["stdout"].strip())
    print(one.json("GET", "/ready")[0])
shutil.rmtree(folder)
)py");
  EXPECT_EQ(ended.said, "200 True None\n200 True None\npaused 200 kept\npaused 200 kept\n200\n");
}

// As is one whose workers have a jail each.
TEST_F(LinuxEngine, AWorkerWhoseWardenWasKilledGoesOn) {
  const Ended ended = python(std::string(wardens) + R"py(
folder = tempfile.mkdtemp()
pathlib.Path(folder, "tokens").write_text("somebody " + hashlib.sha256(b"t").hexdigest() + "\n")
with server.Server(*(word for word in words if word not in ("--token", "t")), "--isolate", "session",
                   "--tokens-file", folder + "/tokens") as one:
    session = make(one)[1]["sessionId"]
    class Worker: pass
    def below(process):
        return [process, *(one for child in children(process) for one in below(child))]
    for number in below(one.process.pid):
        worker = Worker()
        worker.process = Worker()
        worker.process.pid = number
        end_wardens(worker)
    is_over(one, session)
    print(run(one, make(one)[1]["sessionId"], "echo new")[1]["stdout"].strip(), one.json("GET", "/ready")[0])
shutil.rmtree(folder)
)py");
  EXPECT_EQ(ended.said, "new 200\n");
}

TEST_F(LinuxEngine, AServerThatCanBeginNoOtherWardenSaysWhatToDo) {
  const Ended ended = python(std::string(wardens) + R"py(
with server.Server(*words) as one:
    session = make(one)[1]["sessionId"]
    both = [process for starter in starters(one) for process in [starter, *children(starter)]]
    end(both)
    server.until(lambda: one.json("GET", "/ready")[0] == 503, "it says that it is not ready")
    print("start the program anew" in one.json("GET", "/ready")[1]["reason"], one.log().count("linux_engine_stopped"))
    for attempt in range(2):
        status, answer = make(one)[:2]
        print(status, "start the program anew" in answer["message"])
    is_over(one, session)
    print(run(one, session, "true")[0], one.json("DELETE", f"/v1/sessions/{session}", token="t")[0])
)py");
  EXPECT_EQ(ended.said, "True 1\n500 True\n500 True\n409 200\n");
}

TEST_F(LinuxEngine, ATemplateForE2BOutlivesItsWarden) {
  const Ended ended = python(std::string(wardens) + R"py(
with server.Server("serve", "--token", "t", "--e2b-template", "small=small") as one:
    def begin():
        return one.ask("POST", "/sandboxes", {"templateID": "small"}, headers={"X-API-KEY": "t"})[0]
    print(begin())
    end_wardens(one)
    server.until(lambda: begin() == 201, "there is one of another warden")
)py");
  EXPECT_EQ(ended.said, "201\n");
}

TEST_F(LinuxEngine, IsATemplateOfProgramsForE2B) {
  const std::string words = test_image_has_python() ? " --python" : "";
  const Ended ended = bash("CLOCHE_PROGRAM=$CLOCHE python3 -B " CLOCHE_SOURCE_DIR
                           "/tests/e2b/linux_template_test.py" +
                           words + " 2>&1");
  EXPECT_EQ(ended.status, 0) << ended.said;
}

TEST_F(LinuxEngine, HasFoldersOfThisMachineAtEveryDoor) {
  const Ended ended = python(R"py(
import os, pathlib, subprocess, tempfile, server, cloche
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "data").write_text("of the host")
script = "cat /data/data; echo; echo x >/data/new && echo written"
image = ["--engine", "linux", "--image", "small"]
def line(mount):
    done = subprocess.run([os.environ["CLOCHE"], "run", *image, "--mount", mount, script], capture_output=True, text=True)
    print(done.stdout.split("\n")[:2], (folder / "new").exists())
line(f"{folder}:/data:ro")
line(f"{folder}:/data")
(folder / "new").unlink()
for read_only in (True, False):
    with cloche.Sandbox(engine="linux", image="small", mounts=[cloche.Mount(str(folder), "/data", read_only)]) as box:
        print(box.commands.run(script).stdout.split("\n")[:2], (folder / "new").exists())
(folder / "new").unlink()
linux = ["--session-engine", "linux", "--session-image", "small", "--session-mount", f"{folder}:/data"]
with server.Server("serve", "--token", "t", *linux) as one:
    with cloche.Sandbox(url=one.url, token="t") as box:
        print(box.commands.run(script).stdout.split("\n")[:2], (folder / "new").exists())
)py");
  const std::string is_read = "['of the host', ''] False\n",
                    is_written = "['of the host', 'written'] True\n";
  EXPECT_EQ(ended.said, is_read + is_written + is_read + is_written + is_written);
}

}  // namespace
}  // namespace cloche::native

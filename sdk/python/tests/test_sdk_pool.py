# SPDX-License-Identifier: Apache-2.0
"""Pools without Ray: cells of this machine, which are lost in all the ways that they can be."""
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections import Counter
from typing import Callable, Dict, Mapping
from unittest import mock

from cloche import _websocket, PoolFull, PythonSession, Sandbox, SandboxError, SandboxLost, ServerError
from cloche._pool import placement
from cloche._pool.address import Address
from cloche._pool.cell import cell_at
from cloche._pool.host import CellHost
from cloche._pool.lane import Lane
from cloche._pool.pool import Pool
from cloche._pool.web import Web

TOKEN = "test-token-of-the-pool"
PATIENCE_S = 120


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("still not: " + what)
        time.sleep(0.02)


class Here:
    """A directory of cells of this machine, by names."""

    def __init__(self) -> None:
        self.addresses: Dict[str, Address] = {}

    def cells(self) -> Mapping[str, Address]:
        return dict(self.addresses)

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.05))

    def here(self) -> str:
        return "a"


class PoolTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Here()
        self.hosts: Dict[str, CellHost] = {}
        self.pool = Pool(self.directory, TOKEN, 60, 16)

    def start(self, name: str, *words: str, lease_s: float = 3600) -> CellHost:
        host = CellHost(name, "127.0.0.1", TOKEN, lease_s, words)
        self.addCleanup(host.stop)
        self.directory.addresses[name] = host.renew()
        self.hosts[name] = host
        return host

    def pid(self, name: str) -> int:
        return self.hosts[name]._process.pid

    def kill_cell(self, name: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid(name), number)

    def sessions(self, name: str) -> Dict[str, dict]:
        listed = cell_at(self.directory.addresses[name], TOKEN, 60)._question("session.list", {"limit": 1000})
        return {one["sessionId"]: one for one in listed["sessions"]}


class Sandboxes(PoolTest):
    def setUp(self) -> None:
        super().setUp()
        self.start("a")

    def test_it_is_a_sandbox(self) -> None:
        with self.pool.create(env={"A": "b"}, timeout_ms=60_000, metadata={"job": 1}) as sandbox:
            self.assertIsInstance(sandbox, Sandbox)
            self.assertEqual((sandbox.node_id, sandbox.is_alive), ("a", True))
            self.assertEqual(self.sessions("a")[sandbox.session_id]["metadata"], {"job": 1})
            done = sandbox.commands.run("echo $A; cat >&2; exit 3", stdin="err")
            self.assertEqual((done.stdout, done.stderr, done.exit_code, done.status), ("b\n", "err", 3, "exited"))
            data = bytes(range(256)) * 50_000  # more than a part
            sandbox.files.write("big", data)
            self.assertEqual(sandbox.files.read("big"), data)
            sandbox.files.write("empty", b"")
            self.assertEqual((sandbox.files.read("empty"), sandbox.files.exists("no")), (b"", False))
            with self.assertRaises(FileNotFoundError):
                sandbox.files.read("no")
            parts = []
            sandbox.commands.run("for i in 1 2 3; do echo $i; done", on_stdout=parts.append)
            self.assertEqual("".join(parts), "1\n2\n3\n")
            with sandbox.commands.start("sort") as sort:
                sort.write("b\na\n")
                sort.close_stdin()
                self.assertEqual(sort.wait().stdout, "a\nb\n")
            sandbox.env["X"] = "y"
            self.assertEqual(sandbox.env["X"], "y")
            moment = sandbox.snapshot()
            sandbox.files.rm("big")
            sandbox.restore(moment)
            self.assertTrue(sandbox.files.exists("big"))
            called = sandbox.python.execute("await double(n=21)", callbacks={"double": lambda n: 2 * n})
            self.assertEqual(called.result, "42")
            self.assertEqual(PythonSession(sandbox=sandbox).execute("1 + 1").value, 2)
            self.assertNotIn(TOKEN, repr(sandbox))
        self.assertEqual(self.sessions("a"), {})
        with self.assertRaisesRegex(ServerError, "kill"):
            sandbox.commands.run("true")
        with self.assertRaisesRegex(ServerError, "kill"):
            sandbox.fork()
        sandbox.kill()

    def test_forks_go_on_from_it(self) -> None:
        with self.pool.create(commands={"host": lambda call: "of this process\n"}) as base:
            base.commands.run("V=shell; echo file >f")
            base.python.execute("x = 41", check=True)
            twins = self.pool.fork(base, 120)
            self.assertEqual(len({twin.session_id for twin in twins}), 120)
            for n, twin in list(enumerate(twins))[:4]:
                self.assertEqual((twin.node_id, twin.commands.run(f"echo $V; cat f; echo {n} >f; host").stdout),
                                 ("a", "shell\nfile\nof this process\n"))
                self.assertEqual(twin.python.execute("x + 1").result, "42")
            self.assertEqual(base.files.read("f"), b"file\n")
            for twin in twins:
                twin.kill()
            with base.fork() as single:
                self.assertEqual(single.commands.run("echo $V").stdout, "shell\n")
            self.assertEqual(self.pool.fork(base, 0), [])
            with self.assertRaises(ValueError):
                self.pool.fork(base, -1)
            self.assertEqual(set(self.sessions("a")), {base.session_id})

    def test_more_than_a_connection_has(self) -> None:
        with self.pool.create() as base:
            base.commands.run("echo it >f")
            twins = self.pool.fork(base, 450)
            self.assertEqual({twin.files.read("f") for twin in twins}, {b"it\n"})
            for twin in twins:
                twin.kill()

    def test_what_is_refused(self) -> None:
        for options, error in (({"packages": ["no-such-package"]}, ValueError), ({"network": ["example.com:443"]}, PermissionError),
                               ({"mounts": [("/etc", "/x")]}, PermissionError), ({"limits": {"x": 1}}, TypeError),
                               ({"packages": "numpy"}, TypeError), ({"commands": [None]}, TypeError)):
            with self.subTest(options), self.assertRaises(error):
                self.pool.create(**options)
        with self.assertRaises(FileExistsError):
            self.pool.create(commands={"ls": lambda call: None})
        until(lambda: not self.sessions("a"), "nothing is left of what was refused")
        for wrong in ({"lease_s": 59, "starts": 1}, {"lease_s": 60, "starts": 0}):
            with self.assertRaises(ValueError):
                Pool(self.directory, TOKEN, **wrong)

    def test_a_cancelled_command_is_a_result(self) -> None:
        with self.pool.create() as sandbox:
            begun = threading.Event()
            results = []
            thread = threading.Thread(target=lambda: results.append(
                sandbox.commands.run("echo x; sleep 1000", timeout_ms=0, on_stdout=lambda _: begun.set())))
            thread.start()
            begun.wait(PATIENCE_S)
            sandbox.cancel()
            thread.join(PATIENCE_S)
            self.assertEqual((results[0].exit_code, results[0].status), (137, "killed"))
            self.assertEqual(sandbox.commands.run("kill -9 $$").status, "signaled")
            self.assertEqual(sandbox.commands.run("sleep 1000", timeout_ms=50).status, "timedOut")
            self.assertEqual(sandbox.commands.run("echo on").stdout, "on\n")

    def test_a_pickled_one_is_the_same(self) -> None:
        base = self.pool.create()
        base.commands.run("V=1")
        again = pickle.loads(pickle.dumps(base))
        self.assertEqual((again.session_id, again.commands.run("echo $V").stdout), (base.session_id, "1\n"))
        child = ("import pickle, sys\nsandbox = pickle.load(sys.stdin.buffer)\n"
                 "print(sandbox.commands.run('echo $V; echo was here >child').stdout, sandbox.session_id)\n")
        done = subprocess.run([sys.executable, "-c", child], input=pickle.dumps(base), capture_output=True, check=True)
        self.assertEqual(done.stdout.decode(), f"1\n {base.session_id}\n")
        self.assertEqual(base.commands.run("cat child").stdout, "was here\n")
        del again
        self.assertEqual(base.commands.run("echo $V").stdout, "1\n")
        base.kill()
        self.assertEqual(self.sessions("a"), {})

    @unittest.skipIf(sys.version_info >= (3, 12), "a process with threads may not be forked")
    def test_a_forked_child_has_connections_of_its_own(self) -> None:
        base = self.pool.create()
        base.commands.run("V=1")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, base.commands.run("echo $V; echo was here >child").stdout.encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(read, 100), b"1\n")
        os.close(read)
        os.close(write)
        self.assertEqual(base.commands.run("cat child").stdout, "was here\n")
        base.kill()

    def test_what_nobody_refers_to_ends(self) -> None:
        self.pool.create()
        self.assertEqual(len(self.pool.fork(self.pool.create(), 3)), 3)
        until(lambda: not self.sessions("a"), "they have ended")

    def test_one_that_may_be_elsewhere_stays_for_the_time_of_its_lease(self) -> None:
        handle = pickle.dumps(self.pool.create())
        self.pool.create().kill()
        told = list(self.sessions("a"))
        self.assertEqual(len(told), 1)
        self.assertEqual(pickle.loads(handle).session_id, told[0])

    def test_leases_are_renewed_while_it_is_held(self) -> None:
        cell = cell_at(self.directory.addresses["a"], TOKEN, 60)
        sandbox = self.pool.create()
        first = self.sessions("a")[sandbox.session_id]["expiresAt"]
        cell._renew()
        until(lambda: self.sessions("a")[sandbox.session_id]["expiresAt"] > first, "it lives longer")
        sandbox.kill()


class Lost(PoolTest):
    """Every call of a sandbox that is lost says so, by the same error, and gives no result."""

    def calls(self, sandbox) -> Dict[str, Callable[[], object]]:
        return {"run": lambda: sandbox.commands.run("true"), "start": lambda: sandbox.commands.start("true").wait(),
                "execute": lambda: sandbox.python.execute("1"), "read": lambda: sandbox.files.read("f"),
                "exists": lambda: sandbox.files.exists("f"), "mkdir": lambda: sandbox.files.mkdir("d", exist_ok=True),
                "env": lambda: "A" in sandbox.env, "usage": sandbox.usage, "fork": sandbox.fork,
                "forks": lambda: self.pool.fork(sandbox, 2)}

    def assert_lost(self, sandbox) -> None:
        for name, call in self.calls(sandbox).items():
            with self.subTest(name), self.assertRaises(SandboxLost) as caught:
                call()
            self.assertEqual((caught.exception.session_id, caught.exception.node_id), (sandbox.session_id, sandbox.node_id))
        self.assertFalse(sandbox.is_alive)
        sandbox.kill()

    def running(self, sandbox, results: list) -> "list[threading.Thread]":
        """Calls that do not end by themselves, each begun."""
        begun = [threading.Event() for _ in range(3)]

        def command() -> object:
            return sandbox.commands.run("echo x; sleep 1000", timeout_ms=0, on_stdout=lambda _: begun[0].set())

        def code() -> object:
            return twin.python.execute("print('x', flush=True)\nimport time\ntime.sleep(1000)", timeout_ms=0,
                                          on_stdout=lambda _: begun[1].set())

        def beside() -> object:
            handle = sandbox.commands.start("echo x; sleep 1000")
            next(iter(handle))
            begun[2].set()
            return handle.wait()

        def outcome(call: Callable[[], object]) -> None:
            try:
                results.append(call())
            except BaseException as error:
                results.append(error)

        # Commands and code of a sandbox queue, and one that runs beside them begins in their queue: so there is a fork
        # for code, and that one comes first.
        twin = sandbox.fork()
        self.addCleanup(twin.kill)
        threads = [threading.Thread(target=outcome, args=(call,)) for call in (beside, command, code)]
        for thread, event in zip(threads, (begun[2], begun[0], begun[1])):
            thread.start()
            self.assertTrue(event.wait(PATIENCE_S), results)
        return threads

    def test_a_cell_that_is_killed(self) -> None:
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                self.start("a", "--drain", "0")
                sandbox, idle = self.pool.create(), self.pool.create()
                handle = pickle.dumps(idle)
                results: list = []
                threads = self.running(sandbox, results)
                self.kill_cell("a", number)
                for thread in threads:
                    thread.join(PATIENCE_S)
                self.assertEqual([type(result) for result in results], [SandboxLost] * 3, results)
                self.assert_lost(sandbox)
                self.assert_lost(idle)
                self.assert_lost(pickle.loads(handle))

    def test_a_program_that_ends_with_its_machine(self) -> None:
        """A machine that is shut down tells all of its programs to end; those of a box are among them."""
        self.start("a")
        with self.pool.create() as sandbox:
            for command in ("kill -TERM $$", "sh -c 'kill -9 $$'"):
                self.assertGreater(sandbox.commands.run(command).exit_code, 128)
            with mock.patch.object(Web, "is_ready", return_value=False), self.assertRaises(SandboxLost):
                sandbox.commands.run("sh -c 'kill -TERM $$'")
            self.assert_lost(sandbox)

    def test_a_sandbox_that_is_ended_elsewhere(self) -> None:
        self.start("a")
        sandbox, idle = self.pool.create(), self.pool.create()
        cell = cell_at(self.directory.addresses["a"], TOKEN, 60)
        results: list = []
        threads = self.running(sandbox, results)
        for session in self.sessions("a"):
            cell._question("session.delete", {"sessionId": session})
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual([type(result) for result in results], [SandboxLost] * 3, results)
        self.assert_lost(sandbox)
        self.assert_lost(idle)
        with self.pool.create() as other:
            self.assertEqual(other.commands.run("echo on").stdout, "on\n")

    def test_a_lost_connection(self) -> None:
        self.start("a")
        cell = cell_at(self.directory.addresses["a"], TOKEN, 60)
        sandbox, idle, tied = (self.pool.create() for _ in range(3))
        idle.commands.run("V=kept")
        moment = tied.snapshot()
        results: list = []
        threads = self.running(sandbox, results)
        for lane in cell._lanes:
            lane._socket.abort()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual([type(result) for result in results], [SandboxLost] * 3, results)
        self.assert_lost(sandbox)
        self.assertEqual(idle.commands.run("echo $V").stdout, "kept\n")  # nothing of it was on its way
        with self.assertRaises(SandboxLost):
            tied.restore(moment)
        self.assert_lost(tied)
        until(lambda: sandbox.session_id not in self.sessions("a"), "what is lost has ended")
        idle.kill()

    def test_a_node_that_is_said_to_be_gone(self) -> None:
        self.start("a")
        sandbox = self.pool.create()
        results: list = []
        threads = self.running(sandbox, results)
        cell_at(self.directory.addresses["a"], TOKEN, 60).lose("its node is lost")
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual([type(result) for result in results], [SandboxLost] * 3, results)
        self.assertIn("its node is lost", str(results[0]))
        self.assert_lost(sandbox)

    def test_a_machine_that_is_silent(self) -> None:
        self.start("a")
        pid = self.pid("a")
        sandbox = self.pool.create()
        results: list = []
        with mock.patch.object(_websocket, "_SILENCE_SECONDS", 2), mock.patch.object(Lane, "_connect_seconds", 0.2):
            threads = self.running(sandbox, results)
            os.kill(pid, signal.SIGSTOP)
            try:
                for thread in threads:
                    thread.join(PATIENCE_S)
                self.assertEqual([type(result) for result in results], [SandboxLost] * 3, results)
                self.assert_lost(sandbox)
                with self.assertRaises(SandboxLost):
                    self.pool.create(timeout=0)
            finally:
                os.kill(pid, signal.SIGKILL)

    def test_one_that_was_never_there(self) -> None:
        self.start("a")
        cell = cell_at(self.directory.addresses["a"], TOKEN, 60)
        from cloche._pool.sandbox import PoolSandbox
        self.assert_lost(PoolSandbox(cell, "01234567-89ab-4cde-8f01-234567890000", True))

    def test_the_error_can_be_pickled(self) -> None:
        error = pickle.loads(pickle.dumps(SandboxLost("gone", session_id="s", node_id="n")))
        self.assertEqual((str(error), error.session_id, error.node_id), ("gone", "s", "n"))
        self.assertIsInstance(error, ServerError)
        self.assertNotIsInstance(PoolFull("full"), ServerError)
        self.assertIsInstance(pickle.loads(pickle.dumps(PoolFull("full"))), TimeoutError)


class Placement(PoolTest):
    def test_all_nodes_are_used_and_a_node_can_be_named(self) -> None:
        for name in "abc":
            self.start(name, "--max-sessions", "20")
        sandboxes = [self.pool.create() for _ in range(30)]
        counted = Counter(sandbox.node_id for sandbox in sandboxes)
        self.assertEqual(set(counted), set("abc"))
        self.assertLessEqual(max(counted.values()) - min(counted.values()), 6, counted)
        for node, there in (("c", "c"), ("here", "a")):
            with self.pool.create(node=node) as sandbox:
                self.assertEqual(sandbox.node_id, there)
        with self.assertRaises(SandboxLost) as caught:
            self.pool.create(node="nowhere", timeout=0)
        self.assertEqual(caught.exception.node_id, "nowhere")
        for sandbox in sandboxes:
            sandbox.kill()

    def test_a_full_pool(self) -> None:
        for name in "ab":
            self.start(name, "--max-sessions", "2")
        sandboxes = [self.pool.create() for _ in range(4)]
        self.assertEqual(Counter(sandbox.node_id for sandbox in sandboxes), {"a": 2, "b": 2})
        with self.assertRaisesRegex(PoolFull, "no node had room"):
            self.pool.create(timeout=0.2)
        with self.assertRaisesRegex(PoolFull, "no room for 1 forks"):
            self.pool.fork(sandboxes[0], 1, timeout=0.2)
        self.assertEqual(len(self.sessions("a")) + len(self.sessions("b")), 4)
        waiting = threading.Event()
        made = []

        def create() -> None:
            waiting.set()
            made.append(self.pool.create(timeout=PATIENCE_S))

        thread = threading.Thread(target=create)
        thread.start()
        waiting.wait(PATIENCE_S)
        sandboxes.pop().kill()
        thread.join(PATIENCE_S)
        self.assertEqual(len(made), 1)
        for sandbox in [*sandboxes, *made]:
            sandbox.kill()

    def test_forks_are_all_made_or_none(self) -> None:
        self.start("a", "--max-sessions", "150")
        with self.pool.create() as base:
            with self.assertRaises(PoolFull):
                self.pool.fork(base, 200, timeout=0)  # of two requests the second one is refused
            until(lambda: set(self.sessions("a")) == {base.session_id}, "what was made has ended")

    def test_starts_are_bounded(self) -> None:
        self.start("a")
        pool = Pool(self.directory, TOKEN, 60, 2)
        cell = cell_at(self.directory.addresses["a"], TOKEN, 60)
        held, going = threading.Event(), threading.Semaphore(0)
        most, now, lock = 0, 0, threading.Lock()
        create = cell.create

        def slow(*words):
            nonlocal most, now
            with lock:
                now += 1
                most = max(most, now)
            going.release()
            held.wait(PATIENCE_S)
            try:
                return create(*words)
            finally:
                with lock:
                    now -= 1

        cell.create = slow  # type: ignore[method-assign]
        made = []
        threads = [threading.Thread(target=lambda: made.append(pool.create(timeout=PATIENCE_S))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            going.acquire()
        with self.assertRaisesRegex(PoolFull, "2 sandboxes are being started"):
            pool.create(timeout=0.1)
        held.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual((len(made), most), (8, 2))
        for sandbox in made:
            sandbox.kill()

    def test_a_lost_cell_is_passed_over(self) -> None:
        for name in "ab":
            self.start(name)
        self.kill_cell("a")
        self.assertEqual({self.pool.create().node_id for _ in range(8)}, {"b"})
        self.kill_cell("b")
        with self.assertRaisesRegex(SandboxLost, "no cell of the pool"):
            self.pool.create(timeout=0.2)

    def test_a_create_whose_answer_is_lost_is_made_once(self) -> None:
        self.start("a")
        web = cell_at(self.directory.addresses["a"], TOKEN, 60)._web
        ask, lost = web._ask, []

        def lose_the_first(method, *words):
            answer = ask(method, *words)
            if method == "POST" and not lost:
                lost.append(answer)
                raise ConnectionResetError("the answer is lost")
            return answer

        web._ask = lose_the_first  # type: ignore[method-assign]
        with self.pool.create() as sandbox:
            self.assertEqual(len(lost), 1)
            self.assertEqual(list(self.sessions("a")), [sandbox.session_id])

    def test_order(self) -> None:
        choice = random.Random(1)
        self.assertEqual(placement.order([], choice), [])
        self.assertEqual(placement.order([0.1, 0.9, 0.5], choice), [1, 2, 0])
        for _ in range(100):
            found = placement.order([0.1 * n for n in range(9)], choice)
            self.assertEqual(sorted(found), list(range(9)))
            self.assertEqual(found[:3], sorted(found[:3], reverse=True))


class Hosts(PoolTest):
    def is_there(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def test_it_is_started_anew(self) -> None:
        host = self.start("a")
        first = self.directory.addresses["a"]
        self.kill_cell("a")
        until(lambda: host.where() not in (None, first), "there is another one")
        again = host.renew()
        self.assertEqual(again.node_id, "a")
        self.assertNotEqual(again.incarnation, first.incarnation)
        self.directory.addresses["a"] = again
        with self.pool.create() as sandbox:
            self.assertEqual(sandbox.commands.run("echo x").stdout, "x\n")

    def test_it_ends_with_its_lease_and_comes_back(self) -> None:
        host = self.start("a", lease_s=0.5)
        pid = self.pid("a")
        until(lambda: host.where() is None and not self.is_there(pid), "its lease is over")
        host._lease_s = 3600
        host.renew()
        self.assertTrue(self.is_there(self.pid("a")))

    def test_it_ends_with_the_process_that_keeps_it(self) -> None:
        program = ("import sys, time\nfrom cloche._pool.host import CellHost\n"
                   "host = CellHost('a', '127.0.0.1', 't', 3600)\nhost.renew()\nprint(host._process.pid, flush=True)\ntime.sleep(1000)\n")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as keeper:
            pid = int(keeper.stdout.readline())
            self.assertTrue(self.is_there(pid))
            keeper.kill()
        until(lambda: not self.is_there(pid), "it has ended")

    def test_it_ends_with_a_process_that_it_is_beside(self) -> None:
        with subprocess.Popen(["sleep", "1000"]) as other:
            host = CellHost("a", "127.0.0.1", TOKEN, 3600, beside=other.pid)
            self.addCleanup(host.stop)
            host.renew()
            pid = host._process.pid
            other.kill()
        until(lambda: not self.is_there(pid), "it has ended")
        with self.assertRaisesRegex(ServerError, "ended for good"):
            host.renew()

    def test_what_it_is_started_with(self) -> None:
        self.start("a")
        with open(f"/proc/{self.pid('a')}/cmdline") as line:
            self.assertNotIn(TOKEN, line.read())
        with self.assertRaises(ServerError):
            Sandbox(url=self.directory.addresses["a"].url, token="another")
        with self.assertRaises(ServerError):
            Sandbox(url=self.directory.addresses["a"].url)

    def test_one_that_cannot_start_says_why(self) -> None:
        for words, binary, why in ((["--no-such-option"], None, "no-such-option"), ([], "/no/such/program", "")):
            host = CellHost("a", "127.0.0.1", TOKEN, 3600, words, binary)
            self.addCleanup(host.stop)
            with self.assertRaisesRegex(ServerError, f"does not start.*{why}"):
                host.renew()
            self.assertIsNone(host.where())

    def test_another_server_at_its_address_is_a_loss(self) -> None:
        host = CellHost("a", "127.0.0.1", "token of another pool", 3600)
        self.addCleanup(host.stop)
        self.directory.addresses["a"] = host.renew()
        with self.assertRaises(SandboxLost):
            self.pool.create(timeout=0)


class NoRay(unittest.TestCase):
    def test_the_package_needs_none(self) -> None:
        program = "import cloche, sys; assert 'ray' not in sys.modules and 'cloche.ray' not in sys.modules"
        subprocess.run([sys.executable, "-c", program], check=True)
        self.assertTrue(issubclass(SandboxLost, SandboxError))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The API that waits, against a real server."""
import dataclasses
import errno
import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest
from pathlib import Path, PurePosixPath
from unittest import mock

import cloche
import wasmsand
from cloche import Mount, Sandbox, SandboxArgumentError, SandboxError, _operations, _server, _servers, _wire


class Contract(unittest.TestCase):
    def test_as_the_contract_shows_it(self) -> None:
        with wasmsand.Sandbox(timeout_ms=60_000, fs_limit_bytes=512 * 1024 * 1024) as sbx:
            r = sbx.commands.run("echo hello | tr a-z A-Z")
            self.assertIsInstance(r, wasmsand.CommandResult)
            self.assertEqual((r.stdout, r.stderr, r.exit_code), ("HELLO\n", "", 0))
            self.assertIsInstance(r.execution_time_ms, float)
            sbx.files.write("/tmp/a.txt", "str or bytes")
            self.assertEqual(sbx.files.read("/tmp/a.txt"), b"str or bytes")
            sbx.files.mkdir("/tmp/d")
            self.assertEqual(sbx.files.list("/tmp"), [wasmsand.FileInfo("a.txt", "file", 12),
                                                      wasmsand.FileInfo("d", "dir", 0)])
            self.assertEqual(sbx.files.stat("/tmp/a.txt"), wasmsand.FileInfo("a.txt", "file", 12))
            sbx.files.rm("/tmp/a.txt")
            with self.assertRaises(FileNotFoundError):
                sbx.files.stat("/tmp/a.txt")
        sbx.kill()
        with self.assertRaises(RuntimeError):
            sbx.commands.run("true")

    def test_the_values_are_dataclasses(self) -> None:
        self.assertEqual([f.name for f in dataclasses.fields(wasmsand.CommandResult)][:4],
                         ["stdout", "stderr", "exit_code", "execution_time_ms"])
        self.assertEqual([f.name for f in dataclasses.fields(wasmsand.FileInfo)], ["name", "type", "size"])
        self.assertEqual(wasmsand.CommandResult("a", "b", 1, 2.0), wasmsand.CommandResult("a", "b", 1, 2.0))

    def test_an_exception_in_the_block_cleans_up(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            with Sandbox() as sbx:
                1 / 0
        self.assertFalse(sbx.is_alive)

    def test_a_server_that_is_not_there_or_broken(self) -> None:
        for program, words in (("/nonesuch/cloche", "no program"), ("/bin/false", "/bin/false has ended with status 1"),
                               ("/bin/true", "/bin/true has ended"), ("/bin/cat", "/bin/cat has ended"),
                               ("/bin/echo", "/bin/echo says .*: 'rpc --parent")):
            with mock.patch.dict(os.environ, CLOCHE_BINARY=program):
                with self.assertRaisesRegex(RuntimeError, words):
                    Sandbox()

    def test_a_program_that_says_something_else_first_is_not_waited_for(self) -> None:
        for said in ("starting up ...", "5"):
            with self.subTest(said), tempfile.TemporaryDirectory() as folder:
                program = Path(folder, "cloche")
                program.write_text(f"#!/bin/sh\necho '{said}'\nexec sleep 100000\n")
                program.chmod(0o755)
                with mock.patch.dict(os.environ, CLOCHE_BINARY=str(program)):
                    with self.assertRaisesRegex(RuntimeError, f"{program} says what is no message of Cloche's: '{said}'"):
                        Sandbox()

    def test_arguments_are_named(self) -> None:
        with self.assertRaises(TypeError):
            Sandbox(30_000)  # type: ignore[misc]
        with self.assertRaises(TypeError):
            Sandbox(limits={"nonesuch": 1})

    def test_wrong_arguments_are_told_as_such(self) -> None:
        options = ({"packages": 5}, {"packages": b"numpy"}, {"env": ["A=1"]}, {"env": {1: "a"}}, {"env": {"A": "\ud800"}},
                   {"mounts": 5}, {"mounts": [(5, "/x")]}, {"mounts": [("", "/x")]}, {"image": 5}, {"image": b"x"},
                   {"wasm_dir": 5}, {"wasm_dir": ""}, {"limits": 5}, {"limits": [("cpus", 1)]}, {"timeout_ms": float("nan")},
                   {"timeout_ms": float("inf")}, {"timeout_ms": b"3"}, {"url": 5}, {"url": "http://[::1"},
                   {"url": "http://localhost:99999"}, {"url": "localhost"}, {"url": "http://localhost", "metadata": 5},
                   {"token": "x"}, {"commands": 5}, {"commands": {5: print}}, {"commands": [dict]}, {"commands": "word"})
        for given in options:
            with self.subTest(given), self.assertRaises(SandboxArgumentError):
                Sandbox(**given)  # type: ignore[arg-type]
        self.assertIsNone(_servers._shared)


class Shared(unittest.TestCase):
    """A sandbox for all tests of a class."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.sbx = Sandbox()
        cls.addClassCleanup(cls.sbx.kill)


class Commands(Shared):
    def test_options(self) -> None:
        result = self.sbx.commands.run("cat; pwd; echo $A", stdin="in\n", cwd="/tmp", env={"A": "b"})
        self.assertEqual(result.stdout, "in\n/tmp\nb\n")
        self.assertEqual(self.sbx.commands.run("wc -c", stdin=b"\0\xff").stdout.strip(), "2")

    def test_time(self) -> None:
        result = self.sbx.commands.run("sleep 100", timeout_ms=200)
        self.assertEqual((result.exit_code, result.status), (124, "timedOut"))
        self.assertIn("time limit", result.reason)

    def test_check(self) -> None:
        with self.assertRaises(cloche.CommandError) as caught:
            self.sbx.commands.run("echo no >&2; exit 3", check=True)
        self.assertEqual(caught.exception.result.exit_code, 3)
        self.assertIn("no", str(caught.exception))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.result, str(again)), (caught.exception.result, str(caught.exception)))

    def test_errors_of_files_have_the_number_of_the_system(self) -> None:
        with self.assertRaises(OSError) as caught:
            self.sbx.files.read("/nonesuch")
        self.assertEqual((caught.exception.errno, str(caught.exception)),
                         (errno.ENOENT, "ENOENT: No such file or directory: /nonesuch"))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), again.errno_name), (type(caught.exception), "ENOENT"))

    def test_streaming(self) -> None:
        out, err = [], []
        result = self.sbx.commands.run("for i in 1 2 3; do echo $i; echo e$i >&2; done; printf 'é'",
                                       on_stdout=out.append, on_stderr=err.append)
        self.assertEqual("".join(out), "1\n2\n3\né")
        self.assertEqual("".join(err), "e1\ne2\ne3\n")
        self.assertEqual((result.stdout, result.stderr), ("1\n2\n3\né", "e1\ne2\ne3\n"))

    def test_a_handler_that_raises_stops_the_command(self) -> None:
        def refuse(text: str) -> None:
            raise ValueError(text)
        with self.assertRaises(ValueError):
            self.sbx.commands.run("echo x; sleep 1000", on_stdout=refuse, timeout_ms=0)
        self.assertEqual(self.sbx.commands.run("echo on").stdout, "on\n")

    def test_wrong_arguments_are_told_as_such(self) -> None:
        run, start = self.sbx.commands.run, self.sbx.commands.start
        for call in (lambda: run(5), lambda: run("\ud800"), lambda: run("true", timeout_ms=float("nan")),
                     lambda: run("true", on_stdout=5), lambda: run("true", on_stderr="x"), lambda: run("true", stdin=5),
                     lambda: run("true", cwd=b"/tmp"), lambda: start(["ls"]), lambda: start("true", env=5),
                     lambda: start("true", env=["A=1"]), lambda: self.sbx.python.execute(b"1"),
                     lambda: self.sbx.python.execute("1", callbacks=5), lambda: self.sbx.python.execute("1", callbacks=[dict]),
                     lambda: self.sbx.packages.install(5), lambda: self.sbx.env.update([("A", "1")]),
                     lambda: cloche.map_sandboxes(print, [1], workers="2"), lambda: cloche.map_sandboxes(5, [1]),
                     lambda: cloche.map_sandboxes(print, [1], base=5), lambda: cloche.PythonSession(sandbox=5)):
            with self.assertRaises(SandboxArgumentError):
                call()
        with self.sbx.commands.start("cat") as command:
            with self.assertRaises(SandboxArgumentError):
                command.write(5)
            command.write(memoryview(b"a-b-")[::2])
            command.close_stdin()
            self.assertEqual(command.wait(60).stdout, "ab")
        with self.assertRaisesRegex(SandboxArgumentError, "'cwd'.*bytes"):
            run("true", cwd=b"/tmp")

    def test_cancel_from_another_thread(self) -> None:
        started = threading.Event()
        results = []
        thread = threading.Thread(target=lambda: results.append(self.sbx.commands.run(
            "echo up; sleep 1000", timeout_ms=0, on_stdout=lambda _: started.set())))
        thread.start()
        self.assertTrue(started.wait(60))
        self.sbx.cancel()
        thread.join()
        self.assertEqual(results[0].exit_code, 137)

    def test_history(self) -> None:
        self.sbx.commands.run("echo remembered")
        self.assertEqual(self.sbx.commands.history()[-1].command, "echo remembered")

    def test_notebooks_show_results(self) -> None:
        self.assertIn("&lt;b&gt;", self.sbx.commands.run("echo '<b>'")._repr_html_())


class Files(Shared):
    def test_large_ones_go_in_parts(self) -> None:
        data = os.urandom(20_000_000)
        self.sbx.files.write("/tmp/big", data)
        self.assertEqual(self.sbx.files.read("/tmp/big"), data)
        self.assertEqual(self.sbx.files.read("/tmp/big", offset=8 << 20, length=10), data[8 << 20:][:10])
        self.sbx.files.rm("/tmp/big")

    def test_all_operations(self) -> None:
        files = self.sbx.files
        files.write("/tmp/o/a", b"1")
        files.write("/tmp/o/a", b"2", append=True, mode=0o600)
        files.rename("/tmp/o/a", "/tmp/o/b")
        files.symlink("b", "/tmp/o/c")
        files.chmod("/tmp/o/b", 0o640)
        self.assertEqual(files.read_text("/tmp/o/c"), "12")
        self.assertEqual(files.glob("/tmp/o/*"), ["/tmp/o/b", "/tmp/o/c"])
        self.assertEqual((files.lstat("/tmp/o/c").type, files.lstat("/tmp/o/c").target), ("symlink", "b"))
        self.assertEqual(files.list_details("/tmp/o")[0].mode, 0o640)
        self.assertTrue(files.exists("/tmp/o"))
        files.mkdir("/tmp/o/x/y", parents=True)
        files.mkdir("/tmp/o/x/y", parents=True, exist_ok=True)
        with self.assertRaises(FileExistsError):
            files.mkdir("/tmp/o/x/y")
        files.rm("/tmp/o", recursive=True)
        self.assertFalse(files.exists("/tmp/o"))
        with self.assertRaises(PermissionError):
            files.write("/etc/passwd", "")
        with self.assertRaises(IsADirectoryError):
            files.read("/tmp")

    def test_upload_and_download(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder, "tree")
            (tree / "sub").mkdir(parents=True)
            (tree / "run.sh").write_text("echo ran")
            (tree / "run.sh").chmod(0o755)
            (tree / "sub" / "data").write_bytes(b"\0\xff")
            self.sbx.files.upload(tree, "/tmp/tree")
            self.assertEqual(self.sbx.commands.run("cd /tmp/tree; ./run.sh; stat -c %U sub; ln -s /etc/passwd out;"
                                                   " ln -s run.sh in; cd - >/dev/null").stdout, "ran\nsandbox\n")
            self.sbx.files.download("/tmp/tree", Path(folder, "back"))
            self.assertEqual(Path(folder, "back/sub/data").read_bytes(), b"\0\xff")
            self.assertTrue(os.access(Path(folder, "back/run.sh"), os.X_OK))
            self.assertFalse(os.path.lexists(Path(folder, "back/out")))
            self.assertTrue(os.path.islink(Path(folder, "back/in")))
            self.sbx.files.upload(tree / "sub" / "data", "/tmp/one")
            self.sbx.files.download("/tmp/one", Path(folder))
            self.assertEqual(Path(folder, "one").read_bytes(), b"\0\xff")

    def test_no_link_that_is_downloaded_leads_out_of_its_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine").write_text("mine")
            links = "ln -s x/y/up/../mine {0}; ln -s {0} over-{0}; "  # where `up` is is not known before it is there
            self.sbx.commands.run("mkdir /tmp/links; cd /tmp/links; " + links.format("a") + "mkdir -p x/y/w; ln -s ../.. x/y/up;"
                                  " echo theirs > f; ln -s ../f x/good; " + links.format("z") + "cd - >/dev/null")
            for _ in range(2):
                self.sbx.files.download("/tmp/links", Path(folder, "back"))
                back = os.path.realpath(Path(folder, "back"))
                for at, folders, files in os.walk(back):
                    for name in folders + files:
                        self.assertTrue((os.path.realpath(Path(at, name)) + "/").startswith(back + "/"), name)
                self.assertEqual(Path(folder, "back/x/good").read_text(), "theirs\n")
                self.assertEqual(os.readlink(Path(folder, "back/x/y/up")), "../..")

    def test_names_may_be_long_and_have_any_characters(self) -> None:
        names = ["n" * 255, "n" * 242, "\u00e4" * 127, "a\nb", " ", "-", "a\\b", "\"'`$x;|&*?", "\x01\x7f", "\U0001f600", "..."]
        self.sbx.files.mkdir("/tmp/odd")
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                self.sbx.files.write("/tmp/odd/" + name, name)
                for local in (Path(folder), Path(folder, name)):  # the second time in its place
                    self.sbx.files.download("/tmp/odd/" + name, local)
                    self.assertEqual(Path(folder, name).read_text(), name)
            self.assertEqual(sorted(os.listdir(folder)), sorted(names))
            self.sbx.files.download("/tmp/odd", Path(folder, "all"))
            self.assertEqual(sorted(os.listdir(Path(folder, "all"))), sorted(names))
            self.sbx.files.download("/tmp/odd", Path(folder, "all"))
            self.assertEqual(sorted(os.listdir(Path(folder, "all"))), sorted(names))
            with self.assertRaises(OSError):
                self.sbx.files.download("/tmp/odd/-", Path(folder, "n" * 256))

    def test_what_is_downloaded_replaces_one_file_alone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            target, link = Path(folder, "file"), Path(folder, "link")
            mine = Path(folder, "file.part")
            target.write_text("old")
            target.chmod(0o640)
            mine.write_text("mine")
            link.symlink_to(target)
            for local in (target, link):
                self.sbx.files.write("/tmp/new", str(local))
                self.sbx.files.download("/tmp/new", local)
                self.assertEqual((target.read_text(), target.stat().st_mode & 0o777), (str(local), 0o640))
                self.assertTrue(link.is_symlink())
            with self.assertRaises(FileNotFoundError):
                self.sbx.files.download("/tmp/nonesuch", target)
            self.assertEqual(mine.read_text(), "mine")
            self.assertEqual(len(os.listdir(folder)), 3)


class State(Shared):
    def test_arguments_that_are_wrong(self) -> None:
        for wrong in (lambda: Sandbox(timeout_ms=[5]), lambda: Sandbox(mounts="/tmp"),
                      lambda: Sandbox(env={"A": 1}), lambda: self.sbx.commands.run("true", env={"A": 1}),
                      lambda: self.sbx.files.write("/tmp/x", 5), lambda: self.sbx.files.read(5),
                      lambda: self.sbx.env.set("A", 1), lambda: self.sbx.restore("1"),
                      lambda: self.sbx.commands.run("cat", stdin=5), lambda: Sandbox(mounts=["/tmp:/x"]),
                      lambda: Sandbox(env=["A=1"])):
            with self.assertRaises(TypeError):
                wrong()
        self.assertEqual(self.sbx.commands.run("echo on").stdout, "on\n")

    def test_paths_and_reprs(self) -> None:
        path = PurePosixPath("/tmp/by/path")
        self.sbx.files.mkdir(path.parent, parents=True)
        self.sbx.files.write(path, "text")
        self.assertEqual(self.sbx.files.read_text(path), "text")
        self.assertEqual([entry.name for entry in self.sbx.files.list(path.parent)], ["path"])
        self.assertEqual(repr(self.sbx.files), f"<Files of sandbox {self.sbx.id}>")

    def test_what_does_not_fit_leaves_nothing(self) -> None:
        with Sandbox(fs_limit_bytes=20 << 20) as small:
            with self.assertRaises(OSError):
                small.files.write("big", bytes(24 << 20))
            self.assertFalse(small.files.exists("big"))
            small.files.write("small", "x")

    def test_environment(self) -> None:
        self.sbx.env["A_NAME"] = "value"
        self.assertEqual(self.sbx.env["A_NAME"], "value")
        self.assertEqual(self.sbx.commands.run("echo $A_NAME").stdout, "value\n")
        self.assertIsNone(self.sbx.env.get("NONESUCH"))
        self.assertIn("A_NAME", self.sbx.env)
        self.assertNotIn("NONESUCH", self.sbx.env)
        self.assertEqual(dict(self.sbx.env)["A_NAME"], "value")
        self.sbx.commands.run("export OTHER=two A_NAME=changed; NOT_EXPORTED=1")
        self.assertEqual((self.sbx.env["OTHER"], self.sbx.env["A_NAME"]), ("two", "changed"))
        self.assertIn("OTHER", list(self.sbx.env))
        self.assertNotIn("NOT_EXPORTED", self.sbx.env)

    def test_fork_and_snapshot(self) -> None:
        self.sbx.files.write("/tmp/state", "one")
        moment = self.sbx.snapshot()
        with self.sbx.fork() as twin:
            twin.files.write("/tmp/state", "two")
            self.assertEqual(self.sbx.files.read("/tmp/state"), b"one")
        self.sbx.files.rm("/tmp/state")
        self.sbx.restore(moment)
        self.assertEqual(self.sbx.files.read("/tmp/state"), b"one")
        moment.delete()

    def test_a_moment_of_another_sandbox_is_refused(self) -> None:
        self.sbx.files.write("/tmp/state", "now")
        moment = self.sbx.snapshot()
        self.sbx.files.write("/tmp/state", "later")
        with self.sbx.fork() as fork, self.assertRaises(SandboxArgumentError):
            fork.restore(moment)
        self.assertEqual(self.sbx.files.read("/tmp/state"), b"later")

    def test_wrong_arguments_are_told_as_such(self) -> None:
        files = self.sbx.files
        for call in (lambda: files.write("f", 5), lambda: files.write("f", "\ud800"), lambda: files.read("f", offset="x"),
                     lambda: files.read("f", length=1.5), lambda: files.read(b"f"), lambda: files.mkdir(5, parents=True),
                     lambda: files.upload(5, "f"), lambda: files.upload("", "f"), lambda: files.download("/etc/passwd", "\0"),
                     lambda: files.download("/etc/passwd", "\ud800"), lambda: self.sbx.export(5), lambda: self.sbx.load([])):
            with self.assertRaises(SandboxArgumentError):
                call()
        files.write("every", memoryview(b"a-b-")[::2])
        self.assertEqual(files.read("every"), b"ab")
        with tempfile.TemporaryDirectory() as folder, \
                self.assertRaisesRegex(FileNotFoundError, "no folder .*/nonesuch of this machine"):
            files.download("every", f"{folder}/nonesuch/every")

    def test_export(self) -> None:
        self.sbx.files.write("kept", "text")
        with tempfile.TemporaryDirectory() as folder:
            image = os.path.join(folder, "image")
            self.assertIsNone(self.sbx.export(image))
            with Sandbox(image=image) as other:
                self.assertEqual(other.files.read("kept"), b"text")
                other.files.write("kept", "changed")
                other.load(self.sbx.export())
                self.assertEqual(other.files.read("kept"), b"text")
                with self.assertRaises(ValueError):
                    other.load(b"nonsense")

    def test_usage(self) -> None:
        self.sbx.files.write("/tmp/used", b"x" * 10_000)
        self.assertGreaterEqual(self.sbx.usage().file_bytes, 10_000)

    def test_mounts_and_limits(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "f").write_text("host")
            with Sandbox(mounts=[Mount(folder, "/data", read_only=True), (f"{folder}/f", "/etc/app/conf")], env={"E": "1"},
                         limits={"processes": 8}) as sbx:
                self.assertEqual(sbx.commands.run("cat /data/f; echo $E").stdout, "host1\n")
                self.assertNotEqual(sbx.commands.run("echo x > /data/g").exit_code, 0)
                self.assertEqual(sbx.commands.run("echo more >> /etc/app/conf; cat /data/f").stdout, "hostmore\n")
            with self.assertRaisesRegex(OSError, "neither a folder nor a regular file"):
                Sandbox(mounts=[("/dev/null", "/data")])


    def test_nor_one_of_a_guest_of_another_process(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shared, cache, other = Path(folder, "shared"), Path(folder, "cache"), Path(folder, "other")
            for made in (shared, cache, other):
                made.mkdir()
            self.sbx.files.write("/tmp/new", "theirs")
            with mock.patch.dict(os.environ, {"CLOCHE_CACHE": str(cache)}):
                subprocess.run([os.environ["CLOCHE_BINARY"], "run", "--mount", f"{shared}:/shared", f"ln -s {other} /shared/up"],
                               check=True)
                for local in (shared / "up" / "new", shared / "up"):
                    with self.assertRaises(PermissionError):
                        self.sbx.files.download("/tmp/new", local)
            self.assertEqual(os.listdir(other), [])

    def test_nobody_waits_for_a_pipe_of_a_guest(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Sandbox(mounts=[Mount(folder, "/shared")]) as sbx:
            pipe = Path(folder, "pipe")
            os.mkfifo(pipe)  # as one of a linux sandbox can
            sbx.files.write("/tmp/new", "theirs")
            for wait in (lambda: sbx.files.download("/tmp/new", pipe), lambda: sbx.files.upload(pipe, "/tmp/got")):
                with self.assertRaises(OSError):
                    wait()
            other_end = os.open(pipe, os.O_RDWR)
            try:
                for wait in (lambda: sbx.files.download("/tmp/new", pipe), lambda: sbx.files.upload(pipe, "/tmp/got")):
                    with self.assertRaises(PermissionError):
                        wait()
            finally:
                os.close(other_end)
            self.assertFalse(sbx.files.exists("/tmp/got"))

    def test_of_a_folder_all_is_uploaded_or_an_error_is_raised(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Sandbox() as sbx:
            os.chmod(folder, 0o755)
            closed = Path(folder, "tree", "closed")
            closed.mkdir(parents=True)
            (closed / "file").write_text("text")
            closed.chmod(0)
            user = os.geteuid()
            if user == 0:
                os.seteuid(65534)
            try:
                with self.assertRaises(PermissionError):
                    sbx.files.upload(Path(folder, "tree"), "/tmp/tree")
            finally:
                os.seteuid(user)
                closed.chmod(0o700)
            with open(closed / "sparse", "wb") as file:  # as one that a guest has made in a folder that it has by a mount
                file.truncate(1 << 40)
            with self.assertRaises(SandboxError) as caught:
                sbx.files.upload(Path(folder, "tree"), "/tmp/tree")
            self.assertEqual(caught.exception.errno_name, "EFBIG")
            self.assertFalse(sbx.files.exists("/tmp/tree"))

    def test_a_folder_is_uploaded_while_others_swap_what_is_in_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree, other = Path(folder, "tree"), Path(folder, "other")
            (tree / "real").mkdir(parents=True)
            other.mkdir()
            (other / "kept").write_text("mine-and-nobodys-else")
            os.mkfifo(tree / "pipe")
            (tree / "link").symlink_to("../other")
            swapper = subprocess.Popen([sys.executable, "-c", _SWAPS, str(tree)], stdout=subprocess.PIPE)
            try:
                assert swapper.stdout is not None
                swapper.stdout.readline()
                packed = b""
                for _ in range(300):
                    archive = io.BytesIO()
                    try:
                        with tarfile.open(fileobj=archive, mode="w") as tar:
                            _operations._pack(tar, str(tree))
                    except OSError:
                        continue  # it was another thing than it had been
                    packed += archive.getvalue()
            finally:
                swapper.kill()
                swapper.communicate()
            self.assertNotIn(b"mine-and-nobodys-else", packed)

    def test_no_link_of_a_guest_in_a_mounted_folder_leads_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shared, other = Path(folder, "shared"), Path(folder, "other")
            other.mkdir()
            shared.mkdir()
            (other / "kept").write_text("mine")
            with Sandbox(mounts=[Mount(str(shared), "/shared")]) as sbx:
                sbx.commands.run("cd /shared; mkdir real; echo theirs > /tmp/new; ln -s ../other/kept file;"
                                 f" ln -s {other} up; ln -s real in; echo one > real/one")
                for local in ("file", "up/kept", "up/new"):
                    with self.assertRaises(PermissionError):
                        sbx.files.download("/tmp/new", shared / local)
                for local in ("file", "up/kept", "up"):
                    with self.assertRaises(PermissionError):
                        sbx.files.upload(shared / local, "/tmp/got")
                    self.assertFalse(sbx.files.exists("/tmp/got"))
                with self.assertRaises(OSError):
                    sbx.export(os.fspath(shared / "up" / "kept"))
                sbx.commands.run("mkdir -p /tmp/tree/sub; echo theirs > /tmp/tree/kept; cp /tmp/tree/kept /tmp/tree/sub; cd /shared;"
                                 " mkdir to; ln -s ../../other to/sub; mkfifo to/kept")
                for local in ("up", "up/made", "up/made/more"):
                    with self.assertRaises(PermissionError):
                        sbx.files.download("/tmp/tree", shared / local)
                with self.assertRaises(PermissionError):
                    sbx.files.download("/tmp/tree", shared / "to")
                sbx.files.download("/tmp/tree", shared / "in" / "made" / "more")
                self.assertEqual(sbx.commands.run("cd /shared; cat real/made/more/sub/kept; rm to/sub").stdout, "theirs\n")
                sbx.files.download("/tmp/tree", shared / "to")
                self.assertEqual(sbx.commands.run("cat /shared/to/kept /shared/to/sub/kept").stdout, "theirs\n" * 2)
                sbx.commands.run("rm -r /tmp/tree /shared/real/made")
                sbx.files.download("/tmp/new", shared / "in" / "new")
                sbx.files.upload(shared / "in", "/tmp/tree")
                self.assertEqual(sbx.commands.run("cd /tmp/tree; cat one new").stdout, "one\ntheirs\n")
            self.assertEqual((other / "kept").read_text(), "mine")
            self.assertEqual(os.listdir(other), ["kept"])


# A folder, a pipe and a link take each other's places.
_SWAPS = """
import ctypes, os, sys
os.chdir(sys.argv[1])
rename = ctypes.CDLL(None).renameat2
print(flush=True)
while True:
    for name in (b"pipe", b"link"):
        rename(-100, b"real", -100, name, 2)
"""


class Processes(unittest.TestCase):
    def test_one_server_for_all_and_none_in_the_end(self) -> None:
        first = Sandbox()
        pid = first._link.server.pid
        second = Sandbox()
        self.assertEqual(second._link.server.pid, pid)
        first.kill()
        self.assertEqual(second.commands.run("echo on").stdout, "on\n")
        second.kill()
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_a_sandbox_that_nobody_refers_to_ends(self) -> None:
        with Sandbox() as keeper:
            forgotten = Sandbox()
            name = forgotten.id
            del forgotten
            gc.collect()
            self._wait_for_end(keeper, name)

    def test_who_has_a_part_of_a_sandbox_has_the_sandbox(self) -> None:
        with Sandbox() as keeper:
            self.assertEqual(Sandbox().commands.run("echo hi").stdout, "hi\n")
            self.assertEqual(keeper.fork().commands.run("echo hi").stdout, "hi\n")
            python, files, command = Sandbox().python, Sandbox().files, Sandbox().commands.start("cat")
            gc.collect()
            self.assertEqual(python.execute("1 + 1").result, "2")
            files.write("file", "text")
            self.assertEqual(files.read("file"), b"text")
            command.write("line")
            command.close_stdin()
            self.assertEqual(command.wait(60).stdout, "line")
            name = files._link.sandbox_id
            del files
            gc.collect()
            self._wait_for_end(keeper, name)

    def _wait_for_end(self, keeper: Sandbox, name: str) -> None:
        for _ in range(1000):
            if name not in [one["sandboxId"] for one in keeper._link.server.call("sandbox.list", {})["sandboxes"]]:
                return
            time.sleep(0.01)
        self.fail("it is still there")

    def test_a_collector_may_come_while_a_request_is_written(self) -> None:
        with Sandbox() as keeper:
            forgotten = Sandbox()
            name = forgotten.id
            server = keeper._link.server
            with server._write_lock, server._lock, _servers._shared_lock:
                del forgotten
                gc.collect()
            self._wait_for_end(keeper, name)

    def test_many_threads_end_one(self) -> None:
        with Sandbox() as keeper:
            for _ in range(20):
                ended = Sandbox()
                barrier = threading.Barrier(8)

                def end() -> None:
                    barrier.wait()
                    ended.kill()

                threads = [threading.Thread(target=end) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            self.assertEqual(keeper._link.server._users, 1)
            self.assertEqual(keeper.commands.run("echo on").stdout, "on\n")

    def test_a_message_that_cannot_be_handled_costs_itself_alone(self) -> None:
        with Sandbox() as sbx:
            sbx._link.server._handle({"method": "command.exit", "params": {}})
            self.assertEqual(sbx.commands.run("echo on").stdout, "on\n")

    def test_a_request_that_is_too_long_is_refused(self) -> None:
        with Sandbox() as sbx, mock.patch.object(_wire, "LINE_LIMIT", 1 << 20):
            with self.assertRaisesRegex(SandboxArgumentError, "in parts"):
                sbx.commands.run("cat", stdin="x" * (2 << 20))
            self.assertEqual(sbx.commands.run("echo on").stdout, "on\n")

    def test_what_is_interrupted_leaves_nothing(self) -> None:
        with Sandbox() as keeper:
            server = keeper._link.server
            for make in (Sandbox, keeper.fork, lambda: keeper.commands.start("sleep 1000")):
                with mock.patch.object(_server.Request, "result", side_effect=KeyboardInterrupt), \
                        self.assertRaises(KeyboardInterrupt):
                    make()
            for _ in range(1000):
                sandboxes = server.call("sandbox.list", {})["sandboxes"]
                if len(sandboxes) == 1 and server._users == 1 and keeper.usage().processes == 0:
                    break
                time.sleep(0.01)
            else:
                self.fail(f"there is still {sandboxes}, {keeper.usage()}")

    def test_a_server_that_is_killed_is_a_clear_error(self) -> None:
        sbx = Sandbox()
        os.kill(sbx._link.server.pid, 9)
        with self.assertRaisesRegex(RuntimeError, "ended"):
            for _ in range(100):
                sbx.commands.run("true")
        sbx.kill()
        with Sandbox() as next_one:
            self.assertEqual(next_one.commands.run("echo on").stdout, "on\n")

    def test_the_server_ends_with_its_client(self) -> None:
        program = ("import cloche, time\ns = cloche.Sandbox()\nprint(s._link.server.pid, flush=True)\n"
                   "s.commands.run('sleep 1000', timeout_ms=0)\n")
        client = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        pid = int(client.stdout.readline())
        client.kill()
        client.wait()
        client.stdout.close()
        for _ in range(600):
            if not os.path.exists(f"/proc/{pid}"):
                return
            threading.Event().wait(0.1)
        self.fail("the server is still there")

    def test_a_process_that_forgets_to_kill_leaves_nothing(self) -> None:
        program = "import cloche\ns = cloche.Sandbox()\nprint(s._link.server.pid)\n"
        done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertFalse(os.path.exists(f"/proc/{int(done.stdout)}"))

    def test_a_forked_child_has_a_server_of_its_own(self) -> None:
        with Sandbox() as sbx:
            queue = multiprocessing.get_context("fork").SimpleQueue()
            child = multiprocessing.get_context("fork").Process(target=_in_child, args=(sbx, queue))
            child.start()
            child.join()
            self.assertEqual(child.exitcode, 0)
            self.assertEqual(queue.get(), ("child\n", True))
            self.assertEqual(sbx.commands.run("echo parent").stdout, "parent\n")
            queue.close()

    def test_many_threads(self) -> None:
        with Sandbox() as sbx:
            outputs = []
            def work(i: int) -> None:
                with sbx.fork() as twin:
                    outputs.append(twin.commands.run(f"echo {i}").stdout)
            threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(outputs, key=int), [f"{i}\n" for i in range(20)])
        self.assertIsNone(_servers._shared)


def _in_child(sbx: Sandbox, queue: object) -> None:
    try:
        sbx.commands.run("true")
        refused = False
    except RuntimeError:
        refused = True
    with Sandbox() as own:
        queue.put((own.commands.run("echo child").stdout, refused))


if __name__ == "__main__":
    unittest.main()

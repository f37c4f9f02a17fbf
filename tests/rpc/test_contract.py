# SPDX-License-Identifier: Apache-2.0
"""The JSON-RPC wire, method by method."""
import json
import os
import subprocess
import tempfile
import unittest

from wire import BINARY, Wire, WireError, WireTest, decoded, encoded

ROOTFS = os.environ.get("CLOCHE_ROOTFS", "")
HAS_PYTHON = not ROOTFS or os.path.exists(os.path.join(ROOTFS, "python.wasm"))


class Envelope(WireTest):
    creates = False

    def error_of(self, line: bytes) -> tuple:
        self.wire.send_line(line)
        answer = self.wire.read()
        self.assertEqual(set(answer), {"jsonrpc", "id", "error"})
        return answer["error"]["code"], answer["id"]

    def test_what_is_no_request(self) -> None:
        for line in (b"{", b"nonsense", b"{\"a\":\xff}", b"{\"id\":1e999}"):
            self.assertEqual(self.error_of(line), (-32700, None), line)
        for line in (b"[]", b"7", b"null", b"{}", b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"create\"}]"):
            self.assertEqual(self.error_of(line), (-32600, None), line)
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","method":"create"}'), (-32600, None))
        self.assertEqual(self.error_of(b'{"id":4,"method":"create"}'), (-32600, 4))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":5,"method":7}'), (-32600, 5))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":[],"method":"create"}'), (-32600, None))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":"x","method":"create","params":[]}'),
                         (-32602, "x"))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":6,"method":"nonesuch"}'), (-32601, 6))
        # A name may be as long as a line: it is not told back.
        self.wire.send_line(b'{"jsonrpc":"2.0","id":6,"method":"' + b"x" * 1_000_000 + b'"}')
        self.assertLess(len(json.dumps(self.wire.read())), 1000)
        self.assertEqual(self.wire.call("create"), {"ok": True})

    def test_ids_come_back_as_they_were(self) -> None:
        for identity in ("7", '"a\\u00e9b"', "0", "-3", "1.5", "null", '""'):
            self.wire.send_line(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % identity.encode())
            self.assertEqual(self.wire.read()["id"], json.loads(identity))

    def test_create_comes_first(self) -> None:
        for method, params in (("run", {"command": "true"}), ("files.list", {"path": "/"}),
                               ("env.get", {"name": "A"}), ("kill", {})):
            self.assert_error(1, "EINVAL: ", method, params)
        self.wire.call("create")
        self.assert_error(1, "EEXIST: ", "create")

    def test_blank_lines_and_carriage_returns(self) -> None:
        self.wire.send_line(b"")
        self.wire.send_line(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
        self.assertEqual(self.wire.read()["result"]["ok"], True)

    def test_a_line_that_is_too_long(self) -> None:
        block = b"x" * (1 << 20)
        for beginning, told in ((b'{"a":"', None), (b'{"jsonrpc":"2.0","id":"mine","method":"run","params":{"command":"', "mine")):
            self.wire.process.stdin.write(beginning)
            for _ in range(385):
                self.wire.process.stdin.write(block)
            self.wire.send_line(b'"}}')
            answer = self.wire.read()
            self.assertEqual((answer["id"], answer["error"]["code"]), (told, -32700))
        self.assertEqual(self.wire.call("create"), {"ok": True})

    def test_create_refuses_what_it_cannot_do(self) -> None:
        self.assert_error(1, "ENOENT: ", "create", {"wasmDir": "/nonesuch/folder"})
        self.assert_error(-32602, "", "create", {"timeoutMs": "long"})
        self.assert_error(-32602, "", "create", {"fsLimitBytes": -1})
        self.assert_error(1, "ENOENT: ", "create", {"packages": ["nonesuch"]})
        self.assert_error(1, "EINVAL: ", "create", {"network": ["no rule"]})
        self.assert_error(-32602, "there is no option 'network.denied'", "create", {"network": {"allow": ["*"], "denied": []}})
        self.assert_error(-32602, "there is no option 'limits.memory'", "create", {"limits": {"memory": 1}})
        self.assert_error(-32602, "there is no option 'mounts.readonly'", "create", {
            "mounts": [{"host": "/tmp", "guest": "/data", "readonly": True}]})
        self.assertEqual(self.wire.call("create", {"timeoutMs": 30000.0, "fsLimitBytes": 1e6}), {"ok": True})


class Run(WireTest):
    def test_the_result_has_four_members(self) -> None:
        result = self.wire.run("echo out; echo err >&2; exit 3")
        self.assertEqual(list(result), ["exitCode", "stdout", "stderr", "executionTimeMs"])
        self.assertEqual((result["exitCode"], result["stdout"], result["stderr"]), (3, "out\n", "err\n"))
        self.assertGreater(result["executionTimeMs"], 0)

    def test_missing_and_wrong_params(self) -> None:
        self.assert_error(-32602, "'command' is missing", "run", {})
        self.assert_error(-32602, "'command' must be", "run", {"command": 7})
        self.assert_error(1, "EINVAL: ", "run", {"command": "echo \0"})

    def test_amounts_out_of_range_are_refused_with_it(self) -> None:
        for method, params, sentence in (
                ("run", {"command": "true", "timeoutMs": 1e15}, "'timeoutMs' must be a number of milliseconds from 0 to"),
                ("run", {"command": "true", "timeoutMs": -1}, "'timeoutMs' must be a number of milliseconds from 0 to"),
                ("run", {"command": "true", "outputLimitBytes": "1g"},
                 "'outputLimitBytes' must be a number of bytes from 0 to 268435456"),
                ("files.write", {"path": "/tmp/f", "data": "", "mode": 4096}, "'mode' must be a number from 0 to 4095"),
                ("files.chmod", {"path": "/tmp", "mode": -1}, "'mode' must be a number from 0 to 4095"),
                ("files.read", {"path": "/tmp/f", "length": 1 << 40}, "'length' must be a number from 0 to 268435456"),
                ("files.read", {"path": "/tmp/f", "offset": 1 << 64}, "'offset' must be a number that is 0 or more")):
            self.assert_error(-32602, sentence, method, params)
        self.assert_error(1, "ENOENT: ", "files.stat", {"path": "/tmp/f"})  # a refused write wrote nothing

    def test_output_that_is_not_utf8(self) -> None:
        result = self.wire.run(r"printf 'a\377b\303'")
        self.assertEqual(result["stdout"], "a�b�")

    def test_any_text(self) -> None:
        text = "é € 😀 \\ \" \t"
        self.wire.call("env.set", {"name": "TEXT", "value": text})
        self.assertEqual(self.wire.run('printf %s "$TEXT"')["stdout"], text)

    def test_input_environment_and_folder_of_one_command(self) -> None:
        result = self.wire.run("cat; pwd; echo $A", stdin="é in\n", env={"A": "b"}, cwd="/tmp")
        self.assertEqual(result["stdout"], "é in\n/tmp\nb\n")
        self.assertEqual(self.wire.run("wc -c; echo .$A", stdinBase64=encoded(b"\0\xff"))["stdout"], "2\n.\n")

    def test_time_limits(self) -> None:
        self.assertEqual(self.wire.run("echo begun; sleep 100", timeoutMs=300)["exitCode"], 124)
        self.assertEqual(self.wire.run("echo on")["stdout"], "on\n")

    def test_requests_are_served_in_order(self) -> None:
        for i in range(20):
            self.wire.send("run", {"command": f"echo {i} >> /tmp/all; echo {i}"})
        for i in range(20):
            self.assertEqual(self.wire.read()["result"]["stdout"], f"{i}\n")
        self.assertEqual(self.wire.run("tr '\\n' ' ' < /tmp/all")["stdout"],
                         "".join(f"{i} " for i in range(20)))

    def test_streamed_output(self) -> None:
        number = self.wire.send("run", {"command": r"printf 'a\303'; printf '\251' ; echo e >&2",
                                        "stream": True})
        texts = {"stdout": "", "stderr": ""}
        while True:
            message = self.wire.read()
            if "method" not in message:
                break
            self.assertEqual(message["method"], "output")
            self.assertEqual(message["params"]["requestId"], number)
            texts[message["params"]["stream"]] += message["params"]["data"]
        self.assertEqual(texts, {"stdout": "aé", "stderr": "e\n"})
        self.assertEqual(message["id"], number)

    def test_cancel_overtakes(self) -> None:
        running = self.wire.send("run", {"command": "echo up; sleep 100", "stream": True})
        self.assertEqual(self.wire.read()["params"]["data"], "up\n")
        waiting = self.wire.send("run", {"command": "echo never"})
        cancel = self.wire.send("cancel", {"id": waiting})
        answers = {answer["id"]: answer for answer in (self.wire.read(), self.wire.read())}
        self.assertTrue(answers[waiting]["error"]["message"].startswith("ECANCELED"))
        self.assertEqual(answers[cancel]["result"], {"ok": True, "cancelled": True})
        self.wire.send("cancel", {"id": running})
        answers = {answer["id"]: answer for answer in (self.wire.read(), self.wire.read())}
        self.assertEqual(answers[running]["result"]["exitCode"], 137)
        self.assertEqual(self.wire.run("echo on")["stdout"], "on\n")
        self.assertEqual(self.wire.call("cancel", {"id": 12345}), {"ok": True, "cancelled": False})

    def test_cancel_ends_what_requests_run_and_nothing_else(self) -> None:
        self.wire.call("python.execute", {"code": "x = 41"})
        self.wire.run("sleep 1000 & echo $! > job")
        self.wire.call("command.start", {"script": "echo $$ > command; echo up; exec sleep 1000"})
        self.assertEqual(self.wire.read()["params"]["data"], "up\n")
        for which in ("by its id", "all"):
            running = self.wire.send("run", {"command": "sleep 1000 & echo $!; wait", "stream": True})
            child = self.wire.read()["params"]["data"].strip()
            cancel = self.wire.send("cancel", {"id": running} if which == "by its id" else {})
            answers = {answer["id"]: answer for answer in (self.wire.read(), self.wire.read())}
            self.assertTrue(answers[cancel]["result"]["ok"])
            self.assertEqual(answers[running]["result"]["exitCode"], 137)
            with self.subTest(which):
                self.assertEqual(self.wire.call("python.execute", {"code": "x"})["result"], "41")
                self.assertEqual(self.wire.run("kill -0 $(cat job) && kill -0 $(cat command)")["exitCode"], 0)
                self.assertEqual(self.wire.run(f"kill -0 {child}")["exitCode"], 1)


class Files(WireTest):
    def test_bytes_there_and_back(self) -> None:
        for data in (b"", b"\0\xff\n", bytes(range(256)) * 300):
            self.assertEqual(self.wire.call("files.write", {"path": "/tmp/new/f", "data": encoded(data)}),
                             {"ok": True})
            self.assertEqual(decoded(self.wire.call("files.read", {"path": "/tmp/new/f"})["data"]), data)
            self.assertEqual(self.wire.run("wc -c < /tmp/new/f")["stdout"], f"{len(data)}\n")

    def test_list_and_stat(self) -> None:
        self.wire.run("mkdir -p /tmp/d/sub; printf 12345 > /tmp/d/file; ln -s sub /tmp/d/link")
        self.assertEqual(self.wire.call("files.list", {"path": "/tmp/d"}), {"entries": [
            {"name": "file", "type": "file", "size": 5}, {"name": "link", "type": "dir", "size": 0},
            {"name": "sub", "type": "dir", "size": 0}]})
        self.assertEqual(self.wire.call("files.stat", {"path": "/tmp"}), {"name": "tmp", "type": "dir", "size": 0})
        self.assertEqual(self.wire.call("files.stat", {"path": "/tmp/d/file"}),
                         {"name": "file", "type": "file", "size": 5})
        detail = self.wire.call("files.stat", {"path": "/tmp/d/link", "detail": True})
        self.assertEqual((detail["type"], detail["target"]), ("symlink", "sub"))

    def test_errors_have_the_names_of_the_system(self) -> None:
        self.wire.run("mkdir -p /tmp/d; echo x > /tmp/d/f")
        for start, method, params in (
                ("ENOENT: ", "files.read", {"path": "/tmp/nonesuch"}),
                ("EISDIR: ", "files.read", {"path": "/tmp/d"}),
                ("ENOTDIR: ", "files.list", {"path": "/tmp/d/f"}),
                ("ENOTDIR: ", "files.read", {"path": "/tmp/d/f/g"}),
                ("EEXIST: ", "files.mkdir", {"path": "/tmp/d"}),
                ("EEXIST: ", "files.mkdir", {"path": "/tmp/d/f"}),
                ("ENOENT: ", "files.mkdir", {"path": "/tmp/x/y"}),
                ("ENOENT: ", "files.rm", {"path": "/tmp/nonesuch"}),
                ("ENOENT: ", "files.stat", {"path": "/tmp/nonesuch"}),
                ("EACCES: ", "files.write", {"path": "/etc/passwd", "data": ""}),
                ("EISDIR: ", "files.write", {"path": "/tmp/d", "data": ""}),
                ("EINVAL: ", "files.read", {"path": "/tmp/\0"})):
            self.assert_error(1, start, method, params)
        self.assert_error(-32602, "'data' must be base64", "files.write", {"path": "/tmp/f", "data": "?"})
        self.assert_error(-32602, "'data' is missing", "files.write", {"path": "/tmp/f"})
        self.assert_error(-32602, "'path' is missing", "files.read")

    def test_remove(self) -> None:
        self.wire.run("mkdir -p /tmp/d/e; echo x > /tmp/d/f")
        self.assert_error(1, "ENOTEMPTY: ", "files.rm", {"path": "/tmp/d"})
        self.assertEqual(self.wire.call("files.rm", {"path": "/tmp/d/e"}), {"ok": True})
        self.assertEqual(self.wire.call("files.rm", {"path": "/tmp/d", "recursive": True}), {"ok": True})
        self.assert_error(1, "ENOENT: ", "files.stat", {"path": "/tmp/d"})

    def test_more_of_files(self) -> None:
        self.wire.call("files.write", {"path": "/tmp/a", "data": encoded(b"0123456789")})
        self.wire.call("files.write", {"path": "/tmp/a", "data": encoded(b"ab"), "append": True})
        self.assertEqual(decoded(self.wire.call("files.read", {"path": "/tmp/a", "offset": 8, "length": 3})["data"]),
                         b"89a")
        self.wire.call("files.rename", {"from": "/tmp/a", "to": "/tmp/b"})
        self.wire.call("files.chmod", {"path": "/tmp/b", "mode": 0o640})
        self.wire.call("files.symlink", {"target": "b", "path": "/tmp/c"})
        self.assertEqual(self.wire.call("files.glob", {"pattern": "/tmp/[bc]"}), {"paths": ["/tmp/b", "/tmp/c"]})
        self.assertEqual(self.wire.run("stat -c %a /tmp/b; cat /tmp/c")["stdout"], "640\n0123456789ab")
        tar = self.wire.call("files.tarOut", {"path": "/tmp/b"})["data"]
        self.wire.call("files.tarIn", {"path": "/tmp/unpacked", "data": tar})
        self.assertEqual(self.wire.run("cat /tmp/unpacked/b")["stdout"], "0123456789ab")

    def test_the_limit_on_files(self) -> None:
        wire = Wire()
        self.addCleanup(wire.close)
        wire.call("create", {"fsLimitBytes": 100_000})
        wire.call("files.write", {"path": "/tmp/small", "data": encoded(b"x" * 50_000)})
        with self.assertRaises(WireError) as caught:
            wire.call("files.write", {"path": "/tmp/big", "data": encoded(b"x" * 100_000)})
        self.assertTrue(caught.exception.message.startswith("ENOSPC: "), caught.exception.message)


class Environment(WireTest):
    def test_set_and_get(self) -> None:
        self.assertEqual(self.wire.call("env.get", {"name": "NONESUCH"}), {"value": None})
        self.assertEqual(self.wire.call("env.set", {"name": "A", "value": "1 2"}), {"ok": True})
        self.assertEqual(self.wire.call("env.get", {"name": "A"}), {"value": "1 2"})
        self.assertEqual(self.wire.run("echo $A")["stdout"], "1 2\n")
        self.assertEqual(self.wire.call("env.list")["env"]["A"], "1 2")
        self.assertEqual(self.wire.call("env.list")["env"]["HOME"], "/workspace")
        self.assert_error(1, "EINVAL: ", "env.set", {"name": "A=B", "value": ""})
        self.assert_error(-32602, "'value' is missing", "env.set", {"name": "A"})

    def test_it_is_bounded(self) -> None:
        for number in range(2):
            self.wire.call("env.set", {"name": f"B{number}", "value": "x" * 900_000})
        self.assert_error(1, "E2BIG: ", "env.set", {"name": "B2", "value": "x" * 900_000})
        self.wire.call("env.set", {"name": "B1", "value": "x" * 1_100_000})  # in the place of another
        self.wire.call("env.set", {"name": "B1", "value": ""})
        self.wire.call("env.set", {"name": "B2", "value": "x" * 900_000})

    def get(self, name: str):
        return self.wire.call("env.get", {"name": name})["value"]

    def test_what_commands_have_exported(self) -> None:
        self.wire.call("env.set", {"name": "A", "value": "set"})
        self.wire.run("export A=changed 'B=two\nlines'; C=not-exported; export EMPTY=")
        self.assertEqual([self.get(name) for name in ("A", "B", "C", "EMPTY", "no name")],
                         ["changed", "two\nlines", None, "", None])
        self.assertEqual(self.wire.call("env.list")["env"]["B"], "two\nlines")
        self.wire.call("env.set", {"name": "A", "value": "set"})
        self.assertEqual(self.wire.run("echo $A")["stdout"], "set\n")
        self.wire.run("unset A")
        self.assertEqual(self.get("A"), None)
        self.assertNotIn("A", self.wire.call("env.list")["env"])

    def test_to_look_changes_nothing(self) -> None:
        self.assertEqual(self.wire.run("set -u; (exit 7)")["exitCode"], 7)
        self.assertEqual(self.get("NONESUCH"), None)
        self.wire.call("env.list")
        self.assertEqual(self.wire.run("echo $?")["stdout"], "7\n")
        self.assertEqual([e["index"] for e in self.wire.call("history.list")["entries"]], [1, 2])
        twin = self.wire.call("sandbox.fork")["sandboxId"]
        self.wire.run("export D=1", sandboxId=twin)
        self.assertEqual(self.wire.call("env.get", {"name": "D", "sandboxId": twin}), {"value": "1"})
        self.assertEqual(self.get("D"), None)


class Ending(WireTest):
    def test_kill(self) -> None:
        self.wire.send("run", {"command": "sleep 100"})
        number = self.wire.send("kill", {})
        self.assertEqual(self.wire.read(), {"jsonrpc": "2.0", "id": number, "result": {"ok": True}})
        self.assertEqual(self.wire.process.wait(timeout=60), 0)
        self.assertEqual(self.wire.read_line(), b"")

    def test_the_end_of_input(self) -> None:
        self.assertEqual(self.wire.end(), 0)

    def test_the_end_of_input_while_a_command_runs(self) -> None:
        self.wire.send("run", {"command": "sleep 1000", "timeoutMs": 0})
        self.assertEqual(self.wire.end(), 0)

    def test_the_end_of_input_though_nobody_reads_what_it_prints(self) -> None:
        self.wire.send("run", {"command": "yes", "stream": True, "timeoutMs": 0})
        self.assertEqual(self.wire.read()["method"], "output")
        self.wire.process.stdin.close()
        self.assertEqual(self.wire.process.wait(timeout=60), 0)

    def test_the_end_of_input_while_python_waits_for_the_client(self) -> None:
        self.wire.send("python.execute", {"code": "await ask()", "callbacks": [{"name": "ask"}]})
        self.assertEqual(self.wire.read()["method"], "callback.invoke")
        self.assertEqual(self.wire.end(), 0)

    def test_all_that_was_asked_before_the_end_is_answered(self) -> None:
        text = b"".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}).encode() + b"\n"
                        for i, (method, params) in enumerate([("create", {}), ("run", {"command": "echo hi"})]))
        done = subprocess.run([BINARY, "rpc"], input=text, capture_output=True, timeout=120, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a["id"] for a in answers], [0, 1])
        self.assertEqual(answers[1]["result"]["stdout"], "hi\n")

    def test_a_reader_that_is_gone(self) -> None:
        self.wire.process.stdout.close()
        self.assertEqual(self.wire.process.wait(timeout=60), 0)

    def test_the_end_of_the_client(self) -> None:
        client = subprocess.Popen(["sleep", "1000"])
        wire = Wire("--parent", str(client.pid))
        self.addCleanup(wire.close)
        wire.call("create")
        wire.send("run", {"command": "sleep 1000", "timeoutMs": 0})
        client.kill()
        client.wait()
        self.assertEqual(wire.process.wait(timeout=60), 0)


class Several(WireTest):
    creates = False

    def test_sandboxes_are_apart(self) -> None:
        names = [self.wire.call("sandbox.create")["sandboxId"] for _ in range(3)]
        self.assertEqual(len(set(names)), 3)
        for name in names:
            self.wire.run(f"echo {name} > /tmp/name", sandboxId=name)
        for name in names:
            self.assertEqual(self.wire.run("cat /tmp/name", sandboxId=name)["stdout"], name + "\n")
        self.assertEqual([s["sandboxId"] for s in self.wire.call("sandbox.list")["sandboxes"]], names)
        self.assertEqual(self.wire.call("sandbox.destroy", {"sandboxId": names[0]}), {"ok": True})
        self.assert_error(1, "ENOENT: ", "run", {"command": "true", "sandboxId": names[0]})
        self.assert_error(1, "EINVAL: ", "run", {"command": "true"})

    def test_they_run_side_by_side(self) -> None:
        first, second = (self.wire.call("sandbox.create")["sandboxId"] for _ in range(2))
        slow = self.wire.send("run", {"command": "sleep 100", "sandboxId": first})
        self.assertEqual(self.wire.run("echo on", sandboxId=second)["stdout"], "on\n")
        self.wire.send("sandbox.destroy", {"sandboxId": first})
        answers = {answer["id"]: answer for answer in (self.wire.read(), self.wire.read())}
        self.assertEqual(answers[slow]["result"]["exitCode"], 137)

    def test_fork_and_snapshot(self) -> None:
        self.wire.call("create")
        self.wire.run("echo one > /tmp/f")
        twin = self.wire.call("sandbox.fork")["sandboxId"]
        snapshot = self.wire.call("snapshot.create")["id"]
        self.wire.run("echo two > /tmp/f")
        self.assertEqual(self.wire.run("cat /tmp/f", sandboxId=twin)["stdout"], "one\n")
        self.assertEqual(self.wire.call("snapshot.list"), {"snapshots": [{"id": snapshot}]})
        for _ in range(2):
            self.assertEqual(self.wire.call("snapshot.restore", {"id": snapshot}), {"ok": True})
            self.assertEqual(self.wire.run("cat /tmp/f; rm /tmp/f")["stdout"], "one\n")
        self.assertEqual(self.wire.call("snapshot.remove", {"id": snapshot}), {"ok": True})
        self.assert_error(1, "ENOENT: ", "snapshot.restore", {"id": snapshot})

    def test_a_state_outlives_its_server(self) -> None:
        self.wire.call("create", {"env": {"A": "b"}})
        self.wire.run("echo kept > f")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            self.wire.call("persistence.export", {"path": path})
            data = self.wire.call("persistence.export")["data"]
            other = Wire()
            self.addCleanup(other.close)
            other.call("create", {"image": path})
            self.assertEqual(other.run("cat f; echo $A")["stdout"], "kept\nb\n")
            other.run("echo changed > f")
            other.call("persistence.import", {"data": data})
            self.assertEqual(other.run("cat f")["stdout"], "kept\n")
            with open(path, "r+b") as file:
                file.seek(100)
                file.write(b"?")
            self.assert_error(1, "EINVAL: ", "persistence.import", {"path": path})
            self.assert_error(1, "ENOENT: ", "persistence.import", {"path": path + ".none"})

    def test_an_image_that_is_no_file_is_for_the_other_engine(self) -> None:
        with self.assertRaises(WireError) as caught:
            self.wire.call("create", {"image": "debian"})
        self.assertRegex(caught.exception.message, "there is no file debian: .* for the linux engine")

    def test_history(self) -> None:
        self.wire.call("create")
        self.wire.run("echo 1")
        self.wire.run("exit 3")
        entries = self.wire.call("history.list")["entries"]
        self.assertEqual([(e["index"], e["command"], e["exitCode"]) for e in entries],
                         [(1, "echo 1", 0), (2, "exit 3", 3)])
        self.wire.call("history.clear")
        self.assertEqual(self.wire.call("history.list"), {"entries": []})

    def test_history_forgets_the_oldest(self) -> None:
        self.wire.call("create")
        for _ in range(10):
            self.wire.run(": " + "x" * 3_000_000)
        self.wire.run("echo last")
        entries = self.wire.call("history.list")["entries"]
        self.assertEqual([e["index"] for e in entries], [6, 7, 8, 9, 10, 11])
        self.wire.run(": " + "x" * 17_000_000)
        self.assertEqual(self.wire.call("history.list")["entries"][-1]["index"], 11)

    def test_what_waits_is_bounded(self) -> None:
        self.wire.call("create", {"timeoutMs": 0})
        first = self.wire.send("run", {"command": "sleep 1000"})
        data = "A" * 60_000_000
        waiting = [self.wire.send("files.write", {"path": "/tmp/f", "data": data}) for _ in range(9)]
        refused = self.wire.read()
        self.assertEqual((refused["id"], refused["error"]["message"][:7]), (waiting[-1], "EAGAIN:"))
        self.wire.send("cancel")
        answers = {self.wire.read()["id"] for _ in range(10)}
        self.assertEqual(answers, {first, *waiting[:-1], self.wire.last})
        self.wire.call("files.write", {"path": "/tmp/f", "data": data})


@unittest.skipUnless(HAS_PYTHON, "this system has no Python")
class PythonWorld(WireTest):
    """python.*, line by line."""

    def test_what_an_execution_says(self) -> None:
        plain = self.wire.call("python.execute", {"code": "print(1)\n1/0"})
        self.assertEqual(sorted(plain), ["error", "executionTimeMs", "exitCode", "result", "stderr", "stdout"])
        self.assertEqual(plain["error"], {"type": "ZeroDivisionError", "message": "division by zero", "line": 2})
        self.assertTrue(plain["stderr"].startswith("Traceback"))
        said = self.wire.call("python.execute", {"code": "1/0", "detail": True, "tracebackApart": True})
        self.assertEqual((said["outcome"], said["limit"], said["stderr"]), ("error", None, ""))
        self.assertTrue(said["error"]["traceback"].endswith("ZeroDivisionError: division by zero\n"))
        said = self.wire.call("python.execute", {"code": r"raise ValueError('\ud800')"})
        self.assertEqual((said["exitCode"], said["error"]["type"], said["error"]["message"]), (1, "ValueError", "?"))
        for code, kind, length in (("raise ValueError('x' * 9_000_000)", "ValueError", 9_000_000),
                                   ("raise ValueError('x' * 30_000_000)", "ValueError", (1 << 20) + 3),
                                   ("raise type('T' * 30_000_000, (ValueError,), {})", "T" * 1000, 0)):
            said = self.wire.call("python.execute", {"code": code})
            self.assertEqual((said["exitCode"], said["error"]["type"], len(said["error"]["message"])), (1, kind, length))
        code = "class Long(list):\n    def __repr__(self): return 'long'\nLong([0] * 9_000_000)"
        said = self.wire.call("python.execute", {"code": code, "detail": True})
        self.assertEqual((said["result"], said["resultJson"], said["stderr"]), ("long", None, ""))
        said = self.wire.call("python.execute", {"code": "import os\nos.write(201, b'R{'); None"})
        self.assertEqual((said["exitCode"], said["error"]["type"]), (1, "SystemError"))
        said = self.wire.call("python.execute", {"code": "{'a': 1}", "detail": True})
        self.assertEqual((said["outcome"], said["result"], said["resultJson"]), ("ok", "{'a': 1}", '{"a": 1}'))
        said = self.wire.call("python.execute", {"code": "while True: pass", "steps": 1000, "detail": True})
        self.assertEqual((said["outcome"], said["limit"], said["sessionAlive"]), ("limit", "steps", True))
        self.assertEqual(said["steps"], 1000)
        said = self.wire.call("python.execute", {"code": "1", "detail": True})
        self.assertEqual((said["steps"], said["peakMemoryBytes"] > 1 << 20), (None, True))

    def test_tracing_tells_as_it_goes(self) -> None:
        number = self.wire.send("python.execute", {"code": "def f(n):\n    return n\nf(7)",
                                                   "trace": {"values": True, "maxEventsPerSecond": 1000}})
        events = []
        while "method" in (message := self.wire.read()):
            self.assertEqual((message["method"], message["params"]["requestId"]), ("trace", number))
            events.append(message["params"])
        self.assertEqual(message["id"], number)
        self.assertEqual({"call", "line", "return"} - {one["event"]["type"] for one in events}, set())
        self.assertIn(2, [one["line"] for one in events])

    def test_a_question_says_whose_it_is(self) -> None:
        number = self.wire.send("python.execute", {"code": "await f(n=1)", "callbacks": [{"name": "f"}]})
        asked = self.wire.read()
        self.assertEqual((asked["method"], asked["params"]["requestId"], asked["params"]["arguments"]),
                         ("callback.invoke", number, {"n": 1}))
        self.wire.send_line(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": [2]}).encode())
        self.assertEqual(self.wire.read()["result"]["result"], "[2]")

    def test_an_answer_that_cannot_be_read_fails_its_question(self) -> None:
        code = "try: said = await f()\nexcept Exception as error: said = f'{type(error).__name__}: {error}'\nsaid"
        for rest in ('"result":' + "[" * 100 + "]" * 100, '"result":{"a":1,"a":2}', r'"result":"\ud800"', '"result":1,"error":{}',
                     '"error":', '"other":1', '"result":' + "9" * 400):
            self.wire.send("python.execute", {"code": code, "callbacks": [{"name": "f"}], "timeoutMs": 0})
            asked = self.wire.read()
            self.wire.send_line(f'{{"jsonrpc":"2.0","id":"{asked["id"]}",{rest}}}'.encode())
            self.assertRegex(self.wire.read()["result"]["result"], "^.CallbackError: .*answer cannot be read")
        self.assertEqual(self.wire.call("python.execute", {"code": "1"})["result"], "1")

    def test_states(self) -> None:
        self.wire.call("python.execute", {"code": "x = 1\ndef f(): return x"})
        state = self.wire.call("python.snapshotState")
        self.assertEqual(state["leftOut"], [])
        self.assertEqual(self.wire.call("python.clearState"), {"ok": True})
        self.assertEqual(self.wire.call("python.execute", {"code": "x"})["exitCode"], 1)
        self.assertEqual(self.wire.call("python.restoreState", {"data": state["data"]}), {"ok": True})
        self.assertEqual(self.wire.call("python.execute", {"code": "f()"})["result"], "1")
        self.wire.call("python.execute", {"code": "import threading\nstuck = threading.Lock()"})
        self.assert_error(1, "EINVAL: ", "python.snapshotState")
        left = self.wire.call("python.snapshotState", {"onUnpicklable": "leaveOut"})["leftOut"]
        self.assertEqual([one["name"] for one in left], ["stuck"])
        self.assert_error(1, "EINVAL: ", "python.restoreState", {"data": encoded(b"nonsense")})

    def test_parameters_that_make_no_sense(self) -> None:
        for params in ({"trace": 1}, {"trace": {"files": "*"}}, {"onOutputLimit": "burst"}, {"steps": "many"},
                       {"callbacks": [{"name": "a b c", "parametersSchema": {"type": 7}}]}):
            self.assert_error(-32602, "", "python.execute", {"code": "1", **params})
        self.assert_error(-32602, "'onUnpicklable'", "python.snapshotState", {"onUnpicklable": "guess"})
        self.assert_error(-32602, "'data'", "python.restoreState", {"data": "not base64"})
        self.assert_error(-32602, "'path'", "python.checkpoint", {})
        self.assert_error(1, "", "python.restore", {"path": "/nowhere/at-all"})


class Documents(unittest.TestCase):
    def test_the_page_has_every_method_and_no_other(self) -> None:
        import re
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(source, "docs/rpc.md")) as page:
            described = re.findall(r"^\| `([a-z]+(?:\.[a-zA-Z]+)?)` \|", page.read(), re.M)
        with open(os.path.join(source, "src/doors/rpc/methods.cc")) as code:
            served = re.findall(r'Method\{\s*"([^"]+)"', code.read())
        self.assertEqual(sorted(described), sorted(served))


if __name__ == "__main__":
    unittest.main()

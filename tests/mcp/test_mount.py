# SPDX-License-Identifier: Apache-2.0
"""`cloche mcp --mount-tools`: tools of other servers as commands in sandboxes, of good servers and of bad ones."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import clients
from tool_server import PICTURE
from wire import PROGRAM, WireTest

HERE = Path(__file__).parent
PATIENCE_S = 120


def server(mode: str = "good", **more) -> dict:
    return {"command": sys.executable, "args": ["-B", str(HERE / "tool_server.py"), mode], **more}


def wait_until(is_so, why: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(why)
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


class MountTest(WireTest):
    servers: dict = {"test": server()}

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        config = Path(self.folder.name, "servers.json")
        config.write_text(json.dumps({"mcpServers": self.servers}))
        self.arguments = ("--mount-tools", str(config))
        super().setUp()
        self.addCleanup(self.end)

    def end(self) -> int:
        """Asks the process to end; its status."""
        self.wire.process.terminate()
        return self.wire.process.wait(PATIENCE_S)

    def run_command(self, command: str, **more) -> dict:
        return self.call("bash", command=command, **more)["structuredContent"]

    def prints(self, command: str, stdout: str, **more) -> None:
        done = self.run_command(command, **more)
        self.assertEqual((done["stdout"], done["stderr"], done["exit_code"]), (stdout, "", 0), command)

    def fails(self, command: str, words: str, exit_code: int = 1, **more) -> None:
        done = self.run_command(command, **more)
        self.assertEqual((done["stdout"], done["exit_code"]), ("", exit_code), done)
        self.assertIn(words, done["stderr"])


class Good(MountTest):
    def test_arguments(self) -> None:
        self.prints("greet --name bob", "hello bob\n")
        self.prints("greet bob --times=2 --loud", "HELLO BOB\nHELLO BOB\n")
        self.prints("echo '{\"name\": \"bob\", \"times\": 2}' | greet --times 1 -", "hello bob\n")
        self.prints("echo '{\"name\": \"bob\"}' | greet", "hello bob\n")
        self.fails("greet --nam bob", "greet: there is no --nam", 2)
        self.fails("greet bob --times two", "greet: --times wants an integer; not 'two'", 2)
        self.fails("echo x | greet", "no JSON object", 2)
        self.fails("head -c 2000000 /dev/zero | greet -", "more than 1048576 bytes", 2)

    def test_help(self) -> None:
        text = self.run_command("greet --help")["stdout"]
        self.assertTrue(text.startswith("Greets somebody.\nMore of it.\n\nUsage: greet --name TEXT [--times INTEGER] [--loud]\n"), text)
        self.assertIn("  --name TEXT\n      Who\n", text)
        self.prints("/usr/lib/cloche/host-command | head -3", "ask\tDoes ask.\ndeaf\tDoes deaf.\ndie\tDoes die.\n")

    def test_a_model_is_told_of_them(self) -> None:
        said = self.wire.initialize()["instructions"]
        self.assertIn("commands in the shell and its pipes: greet, repeat,", said)
        self.assertLess(len(said), 1500)

    def test_pipes_and_many_at_once(self) -> None:
        self.prints("greet bob | tr a-z A-Z | cut -c 1-5", "HELLO\n")
        self.prints("seq 40 | xargs -P 8 -I N greet N | sort -k 2 -n | tail -1", "hello 40\n")
        self.prints("while read name; do greet $name; done", "hello a\nhello b\n", stdin="a\nb\n")
        self.prints("repeat x --count 3000000 | wc -c", "3000001\n")
        self.prints("repeat x --count 3000000 | head -c 3", "xxx")

    def test_in_forks_and_python(self) -> None:
        name = self.call("sandbox_fork")["structuredContent"]["sandboxes"][0]
        self.prints("greet fork", "hello fork\n", sandbox=name)
        code = "import subprocess; subprocess.run(['greet', 'python'], capture_output=True, text=True).stdout"
        self.assertEqual(self.call("python", code=code)["structuredContent"]["result"], "'hello python\\n'")

    def test_a_failure(self) -> None:
        self.fails("fail", "it cannot\n")
        self.fails("refuse", "refuse: not today\n")

    def test_a_picture(self) -> None:
        done = self.run_command("picture")
        self.assertEqual((done["stdout"], done["exit_code"]), ("a picture\n", 0))
        self.assertIn("part 2 of the result is image/png, 16 bytes, and not printed: --part 2 > FILE", done["stderr"])
        self.prints("picture --part 2 > /tmp/p.png; wc -c < /tmp/p.png; head -c 4 /tmp/p.png | tail -c 3", f"{len(PICTURE)}\nPNG")

    def test_a_call_that_is_killed_is_cancelled(self) -> None:
        told = Path(self.folder.name, "told")
        call = self.wire.begin("bash", command=f"slow {told}")
        wait_until(Path(f"{told}.begun").exists, "the call does not come")
        self.wire.notify("notifications/cancelled", {"requestId": call})
        wait_until(told.exists, "the server was not told")
        self.prints(f"timeout 0.2 slow {told}; echo $?", "124\n")
        self.prints("greet bob", "hello bob\n")

    def test_what_the_server_asks_is_refused(self) -> None:
        self.prints("ask", "-32601\n")

    def test_nonsense_is_passed_over(self) -> None:
        self.prints("nonsense", "still here\n")

    def test_an_answer_that_is_no_json_fails_its_call(self) -> None:
        self.fails("unreadable", "unreadable: the tool server 'test' gives an answer that cannot be read: it is no JSON\n")
        self.prints("greet bob", "hello bob\n")

    def test_a_server_that_dies_is_started_again(self) -> None:
        before = self.run_command("number")["stdout"]
        self.fails("die", "die: the tool server 'test' has ended\n")
        wait_until(lambda: self.run_command("greet bob")["exit_code"] == 0, "it does not come back")
        self.assertNotEqual(self.run_command("number")["stdout"], before)

    def test_a_server_that_floods_is_ended(self) -> None:
        for command, why in (("flood", "that nobody asked for"), ("long", "sent a message of more than")):
            process = int(self.run_command("number")["stdout"])
            self.fails(command, why)
            wait_until(lambda: not is_alive(process), "it is still there")
            wait_until(lambda: self.run_command("greet bob")["exit_code"] == 0, "it does not come back")

    def test_a_server_that_does_not_read_is_ended(self) -> None:
        self.run_command("(printf '{\"text\": \"'; head -c 1000000 /dev/zero | tr '\\0' x; printf '\"}') > /tmp/big")
        told = Path(self.folder.name, "told")
        self.call("bash", command=f"deaf {told}", background=True)
        wait_until(told.exists, "the call does not come")
        done = self.run_command("for i in $(seq 25); do repeat - < /tmp/big > /dev/null & done; wait")
        self.assertIn("does not read what it is sent", done["stderr"])

    def test_it_is_in_a_jail_and_they_are_not(self) -> None:
        self.prints("greet bob", "hello bob\n")

        def walls(process: int) -> dict:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}

        if "Seccomp" not in walls(os.getpid()):
            self.skipTest("no seccomp here")
        own, theirs = walls(self.wire.process.pid), walls(int(self.run_command("number")["stdout"]))
        self.assertEqual((own["NoNewPrivs"], own["Seccomp"]), ("1", "2"))
        for name in ("NoNewPrivs", "Seccomp"):
            self.assertEqual(theirs[name], walls(os.getpid())[name])

    def test_the_servers_end_with_it(self) -> None:
        process = int(self.run_command("number")["stdout"])
        self.assertEqual(self.wire.end(), 0)
        wait_until(lambda: not is_alive(process), "it is still there")


class Configured(MountTest):
    servers = {
        "a": server(prefix="a-", tools=["greet", "variables"], env={"OWN": "${HOME}!"}, cwd="/tmp"),
        "hasty": server(tools=["slow"], timeout_s=0.3),
        "b": server("stubborn", tools=["number"]),
        "off": {"command": "/no/such/program", "disabled": True},
        "inner": {"command": PROGRAM, "args": ["mcp"], "prefix": "inner-"},
    }

    def setUp(self) -> None:
        os.environ["CLOCHE_TEST_SECRET"] = "secret"
        self.addCleanup(os.environ.pop, "CLOCHE_TEST_SECRET")
        super().setUp()

    def test_names_and_variables(self) -> None:
        self.prints("a-greet bob", "hello bob\n")
        done = self.run_command("a-number; greet")
        self.assertEqual(done["exit_code"], 127)
        variables = json.loads(self.run_command("a-variables")["stdout"])
        self.assertEqual((variables["OWN"], variables["cwd"]), (os.environ["HOME"] + "!", "/tmp"))
        self.assertNotIn("CLOCHE_TEST_SECRET", variables)

    def test_a_time_limit(self) -> None:
        told = Path(self.folder.name, "told")
        self.fails(f"slow {told}", "slow: the tool server 'hasty' gave no answer within 0.3", 124)
        wait_until(told.exists, "the server was not told")
        self.prints("a-greet bob", "hello bob\n")

    def test_sandboxes_in_a_sandbox(self) -> None:
        self.prints("inner-bash --command 'echo hi | tr a-z A-Z'", "HI\n")
        self.prints("inner-python --code '6 * 7'", "42\n")
        self.fails("inner-read_file /no/such", "ENOENT")

    def test_a_stubborn_server_ends_with_it(self) -> None:
        process = int(self.run_command("number")["stdout"])
        self.assertEqual(self.wire.end(), 0)
        wait_until(lambda: not is_alive(process), "it is still there")

    def test_a_stubborn_server_ends_by_a_signal(self) -> None:
        process = int(self.run_command("number")["stdout"])
        self.assertEqual(self.end(), -signal.SIGTERM)
        wait_until(lambda: not is_alive(process), "it is still there")

    def test_a_stubborn_server_ends_where_it_is_killed(self) -> None:
        process = int(self.run_command("number")["stdout"])
        self.wire.process.kill()
        wait_until(lambda: not is_alive(process), "it is still there")


class Refused(unittest.TestCase):
    def refused(self, *words: str, text: str = "", **servers) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "servers.json")
            config.write_text(text or json.dumps({"mcpServers": servers}))
            done = subprocess.run([PROGRAM, "mcp", "--mount-tools", str(config)], input="", capture_output=True,
                                  text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_file_that_is_none(self) -> None:
        self.refused("not JSON", text="{")
        self.refused("mcpServers", text="{}")
        done = subprocess.run([PROGRAM, "mcp", "--mount-tools", "/no/such/file"], input="", capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot read /no/such/file: No such file or directory", done.stderr)

    def test_servers_that_cannot_be_had(self) -> None:
        self.refused("'x' cannot be started: /no/such: No such file", x={"command": "/no/such"})
        self.refused("mcp-remote", x={"url": "https://example.com/mcp"})
        self.refused("'x' has ended", x=server("dead"))
        self.refused("'x' refuses the handshake: not with you", x=server("refusing"))
        self.refused("'x' does not list its tools", x=server("unlisted"))
        self.refused("'x' has more than 256 tools", x=server("many"))
        self.refused("'x' has more than 50 pages", x=server("endless"))
        self.refused("'x' has no tool 'other'", x=server(tools=["other"]))

    def test_names_that_clash(self) -> None:
        self.refused("/bin/ls of its own", '"prefix"', x=server("clash"))
        self.refused("'a b' is no name of a command", x=server("word"))
        self.refused("'x' and 'y' both have 'greet'", '"prefix"', x=server(), y=server())


class Official(MountTest):
    def setUp(self) -> None:
        try:
            python = clients.python()
        except clients.Missing as why:
            self.skipTest(str(why))
        self.servers = {"official": {"command": python, "args": ["-B", str(HERE / "official_server.py")]}}
        super().setUp()

    def test_tools(self) -> None:
        self.prints("add 2 --b 3", "5\n")
        self.prints("add --a=2", "3\n")
        self.prints("describe x --tags a --tags b --kind fancy --at '{\"x\": 1, \"y\": 2}'", "x ['a', 'b'] fancy x=1.0 y=2.0\n")
        self.assertIn("--kind plain|fancy", self.run_command("describe --help")["stdout"])
        self.fails("describe x --tags a --kind odd", "odd")
        self.fails("divide 1 0", "Error executing tool divide")
        self.prints("paint --part 1 | head -c 4 | tail -c 3", "PNG")
        self.prints("seq 20 | xargs -P 4 -I N add N | sort -n | tail -1", "21\n")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The tools in boxes of the linux engine, on standard streams and over HTTP. tests/native/program_test.cc runs this, with the images
`small` and `elsewhere` in the store; the second is the first, and works in a folder of its own."""
import sys
import unittest

from test_http import HttpTest, OTHER, TOKEN, Server
from wire import Wire, WireTest, text_of

HAS_PYTHON = "--python" in sys.argv
LINUX = ("--engine", "linux", "--image", "elsewhere")


class Tools:
    """What both have to do; `call` gives the result of a tool."""

    def test_shell_and_files_are_one_sandbox(self) -> None:
        self.assertEqual(text_of(self.call("bash", command="pwd; x=5; cd /tmp; uname -s")), "/workspace\nLinux\n")
        self.assertEqual(self.call("bash", command="echo $x; pwd")["structuredContent"]["stdout"], "5\n/tmp\n")
        self.call("write_file", path="notes/a.txt", content="one\ntwo\n")
        self.assertEqual(self.call("bash", command="cat /workspace/notes/a.txt")["structuredContent"]["stdout"], "one\ntwo\n")
        self.call("edit_file", path="notes/a.txt", old_text="two", new_text="three")
        self.assertIn("three", text_of(self.call("read_file", path="/workspace/notes/a.txt")))
        self.assertIn("a.txt", text_of(self.call("list_files", path="notes")))
        failed = self.call("bash", command="exit 3")
        self.assertEqual(failed["structuredContent"]["exit_code"], 3)

    def test_snapshots_and_forks(self) -> None:
        self.call("bash", command="mkdir -p f; echo then >f/a; x=1")
        self.call("snapshot", action="save", name="then")
        self.call("bash", command="echo now >f/a; x=2")
        self.call("sandbox_fork", names=["twin"])
        self.call("snapshot", action="restore", name="then")
        self.assertEqual(self.call("bash", command="cat f/a; echo $x")["structuredContent"]["stdout"], "then\n1\n")
        self.assertEqual(self.call("bash", sandbox="twin", command="cat f/a; echo $x")["structuredContent"]["stdout"], "now\n2\n")

    @unittest.skipUnless(HAS_PYTHON, "the image has no python3")
    def test_python(self) -> None:
        self.call("bash", command="cd /tmp")
        made = self.call("python", code="import os\nx = 20\nprint(os.getcwd())\nx + 1")
        self.assertEqual((made["structuredContent"]["stdout"], made["structuredContent"]["result"]), ("/workspace\n", "21"))
        raised = self.call("python", code="await nothing()")["structuredContent"]
        self.assertEqual(raised["error"]["type"], "NameError")
        self.call("snapshot", action="save", name="live")
        self.call("python", code="x = 0")
        self.call("snapshot", action="restore", name="live")
        self.assertEqual(self.call("python", code="x")["structuredContent"]["result"], "20")
        self.call("python", code="1", restart=True)
        self.assertEqual(self.call("python", code="'x' in dir()")["structuredContent"]["result"], "False")

    @unittest.skipUnless(HAS_PYTHON, "the image has no python3")
    def test_python_that_runs_too_long_is_stopped_and_keeps_its_names(self) -> None:
        self.call("python", code="x = 1")
        stopped = self.tool("python", code="while True: pass", timeout_s=0.5)
        self.assertTrue(stopped["isError"] and stopped["structuredContent"]["timed_out"], stopped)
        self.assertEqual(self.call("python", code="x")["structuredContent"]["result"], "1")


class OnStreams(Tools, WireTest):
    arguments = LINUX

    def tool(self, tool: str, **arguments) -> dict:
        return self.wire.call(tool, **arguments)

    def test_it_says_what_it_is(self) -> None:
        wire = Wire(*LINUX)
        self.addCleanup(wire.close)
        said = wire.initialize()["instructions"]
        self.assertIn("the system image elsewhere", said)
        self.assertNotIn("numpy", said)

    def test_an_image_that_is_not_there_is_a_sentence(self) -> None:
        wire = Wire("--engine", "linux", "--image", "none")
        self.addCleanup(wire.close)
        wire.initialize()
        refused = wire.call("bash", command="true")
        self.assertTrue(refused["isError"])
        self.assertIn("there is no image 'none'", text_of(refused))


class OverHttp(Tools, HttpTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server("--token", TOKEN, "--token", OTHER, "--session-engine", "linux", "--session-image", "elsewhere")
        cls.addClassCleanup(cls.server.close)

    def setUp(self) -> None:
        self.session = self.open()

    def tool(self, tool: str, **arguments) -> dict:
        return self.legacy(self.session, "tools/call", {"name": tool, "arguments": arguments}).result

    def call(self, tool: str, **arguments) -> dict:
        result = self.tool(tool, **arguments)
        self.assertFalse(result["isError"], result["content"])
        return result


del HttpTest, WireTest  # their own tests are elsewhere

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""The tools of `cloche mcp`, as a model calls them."""
import base64
import unittest

from wire import Wire, WireError, WireTest, text_of

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def images_of(result: dict) -> list:
    return [part for part in result["content"] if part["type"] == "image"]


class Listed(WireTest):
    def test_thirteen_tools_by_name(self) -> None:
        tools = self.wire.ask("tools/list")["tools"]
        self.assertEqual([tool["name"] for tool in tools], [
            "bash", "edit_file", "list_files", "network", "process", "python", "read_file", "sandbox_create",
            "sandbox_delete", "sandbox_fork", "sandbox_list", "snapshot", "write_file"])
        for tool in tools:
            self.assertTrue(tool["title"])
            self.assertLess(len(tool["description"]), 1200)
            self.assertIn("Example", tool["description"])
            self.assertFalse(tool["inputSchema"]["additionalProperties"])
            self.assertEqual(tool["outputSchema"]["type"], "object")
            for parameter in tool["inputSchema"]["properties"].values():
                self.assertTrue(parameter["description"])
            hints = tool["annotations"]
            self.assertEqual(hints["readOnlyHint"], tool["name"] in ("list_files", "read_file", "sandbox_list"))
            self.assertEqual(hints["destructiveHint"], tool["name"] == "sandbox_delete")
            self.assertEqual(hints["openWorldHint"], tool["name"] == "network")

    def test_an_unknown_tool_is_an_error_of_the_protocol(self) -> None:
        with self.assertRaises(WireError) as caught:
            self.wire.call("no_such_tool")
        self.assertEqual(caught.exception.code, -32602)

    def test_wrong_arguments_are_told_to_the_model(self) -> None:
        self.assertIn("'command' is missing", self.refused("bash"))
        self.assertIn("'command' must be a string", self.refused("bash", command=7))
        self.assertIn("no argument 'cmd': this tool takes command, cwd", self.refused("bash", cmd="ls"))
        self.assertIn("'timeout_s' must be a number from 0.1 to 3600", self.refused("bash", command="ls", timeout_s=0))
        self.assertIn("one of list, output, input, kill", self.refused("process", action="stop"))
        self.assertIn("'env' must be an object of strings", self.refused("bash", command="ls", env={"a": 1}))
        self.assertIn("NUL", self.refused("read_file", path="a\0b"))
        self.assertIn("there is no sandbox 'x': there is default", self.refused("bash", command="ls", sandbox="x"))


class Bash(WireTest):
    def test_what_a_model_reads(self) -> None:
        self.assertEqual(text_of(self.call("bash", command="echo out; echo err >&2; exit 3")), "out\nstderr:\nerr\n[exit code 3]")
        self.assertEqual(text_of(self.call("bash", command=":")), "(no output)")
        self.assertEqual(text_of(self.call("bash", command="printf x")), "x")

    def test_what_a_program_reads(self) -> None:
        result = self.call("bash", command="echo out; echo err >&2; exit 3")["structuredContent"]
        self.assertEqual({name: result[name] for name in ("exit_code", "stdout", "stderr", "truncated", "timed_out", "cwd")},
                         {"exit_code": 3, "stdout": "out\n", "stderr": "err\n", "truncated": False, "timed_out": False, "cwd": "/workspace"})
        self.assertIsInstance(result["duration_ms"], int)

    def test_the_shell_stays(self) -> None:
        self.call("bash", command="x=1; f() { echo f $x; }; cd /tmp; export y=2; exit 9")
        result = self.call("bash", command="f; pwd; echo $y")
        self.assertEqual(text_of(result), "f 1\n/tmp\n2\n")
        self.assertEqual(result["structuredContent"]["cwd"], "/tmp")

    def test_folder_and_variables_of_one_call(self) -> None:
        self.call("bash", command="cd /tmp; (exit 4)")
        self.assertEqual(text_of(self.call("bash", command="pwd; echo $v; cat", cwd="/usr", env={"v": "one"}, stdin="in")), "/usr\none\nin")
        self.assertEqual(text_of(self.call("bash", command="pwd; echo \"<$v>\"")), "/tmp\n<>\n")
        self.assertIn("ENOENT", self.refused("bash", command="pwd", cwd="/no/such").replace("No such file or directory", "ENOENT"))

    def test_restart(self) -> None:
        self.call("bash", command="x=1; cd /tmp")
        self.assertEqual(text_of(self.call("bash", command="echo \"<$x>\"; pwd", restart=True)), "<>\n/workspace\n")
        self.assertEqual(text_of(self.call("bash", restart=True)), "(no output)")

    def test_over_its_time_with_what_it_has_written(self) -> None:
        self.call("bash", command="x=kept")
        result = self.wire.call("bash", command="echo begun; sleep 1000", timeout_s=0.5)
        self.assertTrue(result["isError"])
        self.assertTrue(text_of(result).startswith("begun\n[stopped after 0.5"), text_of(result))
        self.assertEqual((result["structuredContent"]["exit_code"], result["structuredContent"]["timed_out"]), (None, True))
        self.assertEqual(text_of(self.call("bash", command="echo $x")), "kept\n")

    def test_long_output_is_cut_in_the_middle_and_whole_in_a_file(self) -> None:
        result = self.call("bash", command="seq 20000")
        text = result["structuredContent"]["stdout"]
        self.assertTrue(result["structuredContent"]["truncated"])
        self.assertTrue(text.startswith("1\n2\n") and text.endswith("\n20000\n"))
        self.assertLess(len(text), 31_000)
        path = text.split("the whole is in ")[1].split(":")[0]
        self.assertEqual(text_of(self.call("bash", command=f"seq 20000 | cmp - {path} && echo same")), "same\n")
        wide = self.call("bash", command="printf '\u00e4%.0s' $(seq 30000)")["structuredContent"]
        self.assertFalse(wide["truncated"])  # characters, not bytes

    def test_bytes_that_are_no_text(self) -> None:
        self.assertEqual(text_of(self.call("bash", command="printf 'a\\xffb'")), "a\ufffdb")

    def test_in_the_background(self) -> None:
        self.call("bash", command="cd /tmp; export e=exported")
        result = self.call("bash", command="pwd; echo $e; read line; echo got $line; sleep 1000", background=True)
        process = result["structuredContent"]["process"]
        self.assertEqual(process, "p1")
        out = ""
        while out.count("\n") < 2:
            out += self.call("process", action="output", id=process, wait_s=60)["structuredContent"]["stdout"]
        self.assertEqual(out, "/tmp\nexported\n")
        self.call("process", action="input", id=process, text="word\n", close_stdin=True)
        result = self.call("process", action="output", id=process, wait_s=60)
        self.assertEqual((result["structuredContent"]["stdout"], result["structuredContent"]["running"]), ("got word\n", True))
        listed = self.call("process", action="list")["structuredContent"]["processes"]
        self.assertEqual([(p["id"], p["running"], p["exit_code"]) for p in listed], [("p1", True, None)])
        result = self.call("process", action="kill", id=process)["structuredContent"]
        self.assertEqual((result["running"], result["exit_code"]), (False, 137))
        self.assertIn("there is p1", self.refused("process", action="output", id="p9"))

    def test_old_output_that_nobody_takes_is_dropped(self) -> None:
        self.call("bash", command="seq 400000; echo end", background=True)
        while self.call("process", action="list")["structuredContent"]["processes"][0]["running"]:
            pass
        result = self.call("process", action="output", id="p1")
        self.assertIn("bytes of older output were dropped", text_of(result))
        self.assertTrue(result["structuredContent"]["stdout"].endswith("400000\nend\n"))


class Python(WireTest):
    def test_what_it_gives(self) -> None:
        result = self.call("python", code="print('out')\nx = 20\nx + 1")
        self.assertEqual(text_of(result), "out\n21")
        self.assertEqual(result["structuredContent"]["result"], "21")
        self.assertIsNone(result["structuredContent"]["error"])
        self.assertEqual(self.call("python", code="x")["structuredContent"]["result"], "20")
        self.assertEqual(text_of(self.call("python", code="pass")), "(no output)")

    def test_an_exception_is_no_error_of_the_tool(self) -> None:
        result = self.call("python", code="print(1)\n1/0")
        error = result["structuredContent"]["error"]
        self.assertEqual((error["type"], error["message"], error["line"]), ("ZeroDivisionError", "division by zero", 2))
        self.assertTrue(text_of(result).startswith("1\nstderr:\nTraceback"), text_of(result))

    def test_over_its_time(self) -> None:
        self.call("python", code="x = 1")
        result = self.wire.call("python", code="print('begun')\nwhile True: pass", timeout_s=0.5)
        self.assertTrue(result["isError"])
        self.assertTrue(result["structuredContent"]["timed_out"])
        self.assertIn("begun\n", text_of(result))
        self.assertIn("[stopped after 0.5", text_of(result))
        self.assertEqual(self.call("python", code="x")["structuredContent"]["result"], "1")

    def test_restart(self) -> None:
        self.call("python", code="x = 1")
        self.assertEqual(self.call("python", code="'x' in globals()", restart=True)["structuredContent"]["result"], "False")

    def test_exit(self) -> None:
        self.assertEqual(text_of(self.call("python", code="import sys; sys.exit(3)")), "(no output)\n[exit code 3]")

    def test_figures(self) -> None:
        draw = "import matplotlib.pyplot as plt\nplt.figure(figsize=(40, 3)); plt.plot([1, 2])\n"
        for code in (draw, draw + "plt.show()", draw + "plt.savefig('own.png')"):
            result = self.call("python", code=code)
            self.assertEqual(result["structuredContent"]["figures"], 1)
            (image,) = images_of(result)
            self.assertEqual(image["mimeType"], "image/png")
            data = base64.b64decode(image["data"])
            self.assertLessEqual(max(int.from_bytes(data[16:20]), int.from_bytes(data[20:24])), 1568)
        closed = self.call("python", code="plt.figure(); plt.plot([1]); plt.show(); plt.close()")
        self.assertEqual(len(images_of(closed)), 1)
        self.assertEqual(self.call("python", code="1")["structuredContent"]["figures"], 0)

    def test_many_figures(self) -> None:
        result = self.call("python", code="import matplotlib.pyplot as plt\nfor i in range(12): plt.figure(figsize=(1, 1))")
        self.assertEqual((result["structuredContent"]["figures"], len(images_of(result))), (12, 10))
        links = [part for part in result["content"] if part["type"] == "resource_link"]
        self.assertEqual(len(links), 2)
        read = self.wire.ask("resources/read", {"uri": links[0]["uri"]})["contents"][0]
        self.assertEqual(read["mimeType"], "image/png")

    def test_figures_of_a_program(self) -> None:
        script = "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()"
        self.assertEqual(len(images_of(self.call("bash", command=f"python3 -c '{script}'"))), 1)


class Files(WireTest):
    def test_write_and_read(self) -> None:
        result = self.call("write_file", path="deep/er/a.txt", content="one\ntwo\nthree")
        self.assertEqual(result["structuredContent"], {"path": "deep/er/a.txt", "size": 13})
        self.call("write_file", path="deep/er/a.txt", content="\nfour\n", append=True)
        result = self.call("read_file", path="/workspace/deep/er/a.txt")
        self.assertEqual(text_of(result), "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n")
        self.assertEqual(result["structuredContent"], {"path": "/workspace/deep/er/a.txt", "size": 19, "mime_type": "text/plain", "truncated": False})
        result = self.call("read_file", path="deep/er/a.txt", offset=2, limit=1)
        self.assertEqual(text_of(result), "     2\ttwo\n[there is more: go on with offset 3]")
        self.assertTrue(result["structuredContent"]["truncated"])
        self.assertEqual(text_of(self.call("read_file", path="deep/er/a.txt", offset=9)), "(the file has 4 lines)")

    def test_errors_begin_with_the_errno(self) -> None:
        self.assertTrue(self.refused("read_file", path="/no").startswith("ENOENT: "))
        self.assertTrue(self.refused("read_file", path="/usr").startswith("EISDIR: "))
        self.assertTrue(self.refused("write_file", path="/usr/x", content="").startswith("E"))
        self.assertTrue(self.refused("list_files", path="/no").startswith("ENOENT: "))

    def test_one_of_text_and_bytes(self) -> None:
        for arguments in ({}, {"content": "", "content_base64": ""}):
            self.assertIn("give one of", self.refused("write_file", path="x", **arguments))
        self.assertIn("base64", self.refused("write_file", path="x", content_base64="?"))

    def test_pictures_and_bytes(self) -> None:
        self.call("write_file", path="p.bin", content_base64=base64.b64encode(PNG).decode())
        result = self.call("read_file", path="p.bin")
        self.assertEqual(base64.b64decode(images_of(result)[0]["data"]), PNG)
        self.assertEqual(result["structuredContent"]["mime_type"], "image/png")
        self.call("bash", command="printf 'a\\0b' >b; head -c 2000000 /dev/zero >big; : >empty")
        part = self.call("read_file", path="b")["content"][1]
        self.assertEqual(part["type"], "resource")
        self.assertEqual(base64.b64decode(part["resource"]["blob"]), b"a\0b")
        self.assertIn("2000000 bytes", self.refused("read_file", path="big"))
        self.assertEqual(text_of(self.call("read_file", path="empty")), "(the file is empty)")

    def test_edit(self) -> None:
        self.call("bash", command="printf 'def f(a, b):\\n    return a - b\\n\\nx = 1\\nx = 1\\n' >a.py; chmod 751 a.py")
        result = self.call("edit_file", path="a.py", old_text="a - b", new_text="a + b")["structuredContent"]
        self.assertEqual(result["replacements"], 1)
        self.assertIn("-    return a - b\n+    return a + b\n", result["diff"])
        self.assertEqual(text_of(self.call("bash", command="stat -c %a a.py; sed -n 2p a.py")), "751\n    return a + b\n")
        self.assertIn("2 times", self.refused("edit_file", path="a.py", old_text="x = 1", new_text="x = 2"))
        self.assertIn("nearest is line 2: return a + b", self.refused("edit_file", path="a.py", old_text="return a * b", new_text=""))
        self.assertEqual(self.call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2", replace_all=True)["structuredContent"]["replacements"], 2)

    def test_what_edit_says_is_what_has_changed(self) -> None:
        self.call("bash", command="seq 30 >before; cp before after")
        for old, new in (("3\n4\n", "three\n"), ("15", ""), ("30\n", "30"), ("1\n", "0\n1\n")):
            result = self.call("edit_file", path="after", old_text=old, new_text=new, replace_all=True)
            self.call("write_file", path="diff", content=result["structuredContent"]["diff"])
            self.assertEqual(text_of(self.call("bash", command="patch -s before diff && cmp before after && echo same")), "same\n", (old, new))

    def test_line_ends_are_kept(self) -> None:
        self.call("bash", command="printf 'a\\r\\nb\\r\\nc\\r\\n' >crlf")
        self.call("edit_file", path="crlf", old_text="a\nb", new_text="x\ny")
        self.assertEqual(text_of(self.call("bash", command="od -c crlf | head -1 | tr -s ' '")), "0000000 x \\r \\n y \\r \\n c \\r \\n\n")

    def test_list(self) -> None:
        self.call("bash", command="mkdir -p d/e/f .h && touch d/a d/e/b.py d/e/f/c.py .h/x && ln -s a d/l")
        paths = lambda **arguments: [(e["path"], e["type"]) for e in self.call("list_files", **arguments)["structuredContent"]["entries"]]
        self.assertEqual(paths(), [("d", "directory"), ("d/a", "file"), ("d/e", "directory"), ("d/l", "symlink")])
        self.assertEqual(paths(glob="**/*.py"), [("d/e/b.py", "file"), ("d/e/f/c.py", "file")])
        self.assertEqual(paths(path="d", depth=1), [("d/a", "file"), ("d/e", "directory"), ("d/l", "symlink")])
        self.assertIn((".h/x", "file"), paths(hidden=True))
        self.call("bash", command="mkdir many; cd many; seq 1200 | xargs touch")
        result = self.call("list_files", path="many")
        self.assertEqual((len(result["structuredContent"]["entries"]), result["structuredContent"]["truncated"]), (1000, True))


class Sandboxes(WireTest):
    def names(self) -> list:
        return [s["name"] for s in self.call("sandbox_list")["structuredContent"]["sandboxes"]]

    def test_forks_go_on_for_themselves(self) -> None:
        self.call("bash", command="x=shell; echo file >f")
        self.call("python", code="y = 'python'")
        forks = self.call("sandbox_fork", count=2)["structuredContent"]["sandboxes"]
        self.assertEqual(forks, ["default-1", "default-2"])
        for number, name in enumerate(forks):
            self.assertEqual(text_of(self.call("bash", command=f"echo $x; cat f; echo {number} >f", sandbox=name)), "shell\nfile\n")
            self.assertEqual(self.call("python", code="y", sandbox=name)["structuredContent"]["result"], "'python'")
        self.assertEqual(text_of(self.call("bash", command="cat f")), "file\n")
        self.assertEqual(text_of(self.call("bash", command="cat f", sandbox="default-2")), "1\n")
        listed = self.call("sandbox_list")["structuredContent"]["sandboxes"]
        self.assertEqual([(s["name"], s["parent"]) for s in listed], [("default", None), ("default-1", "default"), ("default-2", "default")])
        self.call("sandbox_delete", sandbox="default")
        self.assertEqual(self.names(), forks)
        self.assertEqual(text_of(self.call("bash", command="ls; echo \"<$x>\"")), "<>\n")  # anew

    def test_restart_of_a_fork_s_python(self) -> None:
        self.call("python", code="x = 1")
        self.call("sandbox_fork", names=["twin"])
        self.assertEqual(self.call("python", code="'x' in globals()", restart=True, sandbox="twin")["structuredContent"]["result"], "False")
        self.assertEqual(self.call("python", code="x")["structuredContent"]["result"], "1")

    def test_create_and_delete(self) -> None:
        self.assertEqual(self.call("sandbox_create", name="a.b-c_1")["structuredContent"], {"sandbox": "a.b-c_1"})
        self.assertEqual(self.call("sandbox_create")["structuredContent"], {"sandbox": "sandbox-1"})
        self.assertIn("already", self.refused("sandbox_create", name="a.b-c_1"))
        for name in ("", "A", "-a", "a/b", "a" * 64):
            self.assertIn("is no name", self.refused("sandbox_create", name=name))
        self.assertIn("nosuchpackage", self.refused("sandbox_create", name="p", packages=["nosuchpackage"]))
        self.assertNotIn("p", self.names())
        self.assertEqual(self.call("sandbox_delete", sandbox="a.b-c_1")["structuredContent"], {})
        self.assertIn("there is sandbox-1", self.refused("sandbox_delete", sandbox="a.b-c_1"))

    def test_a_command_in_a_sandbox_that_is_deleted(self) -> None:
        self.call("sandbox_create", name="gone")
        number = self.wire.begin("bash", command="echo begun; sleep 1000", sandbox="gone")
        waiting = self.wire.begin("bash", command="echo next", sandbox="gone")
        while self.call("sandbox_list")["structuredContent"]["sandboxes"][0]["processes"] < 2:
            pass
        self.call("sandbox_delete", sandbox="gone")
        result = self.wire.wait(number)
        self.assertTrue(result["isError"])
        self.assertTrue(text_of(result).startswith("begun\n[stopped after"), result)
        self.assertIn("was deleted", text_of(self.wire.wait(waiting)))

    def test_time_to_live(self) -> None:
        self.call("sandbox_create", name="brief", ttl_s=1)
        while "brief" in self.names():
            pass

    def test_snapshots(self) -> None:
        self.call("bash", command="x=1; echo one >f")
        self.call("python", code="y = 1")
        self.assertEqual(self.call("snapshot", action="save", name="s")["structuredContent"], {"snapshots": ["s"]})
        self.assertEqual(self.call("snapshot", action="save")["structuredContent"], {"snapshots": ["s", "snapshot-1"]})
        self.call("bash", command="x=2; echo two >f")
        self.call("python", code="y = 2")
        for again in range(2):
            self.call("snapshot", action="restore", name="s")
            self.assertEqual(text_of(self.call("bash", command="echo $x; cat f; x=3; echo three >f")), "1\none\n")
            self.assertEqual(self.call("python", code="y")["structuredContent"]["result"], "1")
        self.call("sandbox_create", name="from", from_snapshot="s")
        self.assertEqual(text_of(self.call("bash", command="echo $x; cat f", sandbox="from")), "1\none\n")
        self.assertIn("already", self.refused("snapshot", action="save", name="s"))
        self.assertEqual(self.call("snapshot", action="delete", name="s")["structuredContent"], {"snapshots": ["snapshot-1"]})
        self.assertIn("there is snapshot-1", self.refused("snapshot", action="restore", name="s"))
        self.assertIn("'name' is missing", self.refused("snapshot", action="restore"))


class Network(WireTest):
    arguments = ("--network", "a.example:443", "--allow", "*.example.com:443,80")

    def test_what_the_operator_allows_needs_no_question(self) -> None:
        self.assertEqual(self.call("network", action="show")["structuredContent"]["rules"], ["a.example:443"])
        result = self.call("network", action="allow", rules=["www.example.com:443"])
        self.assertEqual(result["structuredContent"]["rules"], ["a.example:443", "www.example.com:443"])
        text = self.refused("network", action="allow", rules=["www.example.com:22"])
        self.assertTrue(text.startswith("EACCES") and "--allow" in text, text)
        self.assertIn("rule", self.refused("network", action="allow", rules=["a:b:c"]))
        self.assertIn("no rule 'x'", self.refused("network", action="revoke", rules=["x"]))
        self.call("sandbox_create", name="open", network=["b.example.com:80"])
        self.assertEqual(self.call("network", action="show", sandbox="open")["structuredContent"]["rules"], ["a.example:443", "b.example.com:80"])
        self.refused("sandbox_create", network=["evil.example"])


class Resources(WireTest):
    def test_files_are_resources(self) -> None:
        self.call("bash", command="echo hi >'a b.txt'; printf '\\377' >bin; mkdir d; touch d/x")
        listed = self.wire.ask("resources/list")["resources"]
        self.assertEqual([r["uri"] for r in listed], ["sandbox://default/workspace", "sandbox://default/workspace/a%20b.txt", "sandbox://default/workspace/bin"])
        read = lambda uri: self.wire.ask("resources/read", {"uri": uri})["contents"][0]
        self.assertEqual(read("sandbox://default/workspace/a%20b.txt"), {"uri": "sandbox://default/workspace/a%20b.txt", "mimeType": "text/plain", "text": "hi\n"})
        self.assertEqual(read("sandbox://default/workspace/bin")["blob"], "/w==")
        self.assertEqual(read("sandbox://default/workspace")["text"], "a b.txt\nbin\nd/\n")
        templates = self.wire.ask("resources/templates/list")["resourceTemplates"]
        self.assertEqual(templates[0]["uriTemplate"], "sandbox://{sandbox}/{+path}")
        for uri in ("file:///etc/passwd", "sandbox://nobody/workspace", "sandbox://default/workspace/../etc/passwd",
                    "sandbox://default/%2e%2e/etc", "sandbox://default/no", "sandbox://default", "x"):
            with self.assertRaises(WireError) as caught:
                self.wire.ask("resources/read", {"uri": uri})
            self.assertEqual(caught.exception.code, -32002, uri)

    def test_pages(self) -> None:
        self.call("bash", command="seq 250 | xargs touch")
        uris, cursor = [], None
        while True:
            page = self.wire.ask("resources/list", {"cursor": cursor} if cursor else {})
            self.assertLessEqual(len(page["resources"]), 100)
            uris += [r["uri"] for r in page["resources"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        self.assertEqual(len(set(uris)), 251)
        with self.assertRaises(WireError):
            self.wire.ask("resources/list", {"cursor": "x"})

    def test_a_file_that_is_watched(self) -> None:
        uri = "sandbox://default/workspace/f"
        self.call("bash", command="echo 1 >f")
        self.wire.ask("resources/subscribe", {"uri": uri})
        self.call("bash", command="echo 2 >>f")
        self.assertEqual(self.wire.wait_other("notifications/resources/updated")["params"], {"uri": uri})
        self.wire.ask("resources/unsubscribe", {"uri": uri})
        self.call("bash", command="echo 3 >>f")
        self.call("bash", command=":")
        self.assertEqual(self.wire.others, [])


class Options(unittest.TestCase):
    def wire(self, *arguments: str) -> Wire:
        wire = Wire(*arguments)
        self.addCleanup(wire.close)
        wire.initialize()
        return wire

    def test_limits(self) -> None:
        wire = self.wire("--limits", "files=1M,processes=5")
        result = wire.call("bash", command="head -c 3000000 /dev/zero >big")
        self.assertNotEqual(result["structuredContent"]["exit_code"], 0)

    def test_minimal(self) -> None:
        names = [tool["name"] for tool in self.wire("--tools", "minimal").ask("tools/list")["tools"]]
        self.assertEqual(names, ["bash", "edit_file", "python", "read_file", "write_file"])

    def test_as_models_were_trained(self) -> None:
        wire = self.wire("--tools", "anthropic")
        tools = wire.ask("tools/list")["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["bash", "str_replace_based_edit_tool"])
        self.assertEqual(set(tools[0]["inputSchema"]["properties"]), {"command", "restart"})
        self.assertEqual(set(tools[1]["inputSchema"]["properties"]), {
            "command", "path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text"})
        self.assertNotIn("outputSchema", tools[0])

        def edit(**arguments) -> str:
            result = wire.call("str_replace_based_edit_tool", **arguments)
            self.assertNotIn("structuredContent", result)
            return text_of(result)
        self.assertIn("/workspace/a.txt", edit(command="create", path="/workspace/a.txt", file_text="one\ntwo\nthree\n"))
        self.assertEqual(edit(command="view", path="/workspace/a.txt", view_range=[2, -1]), "     2\ttwo\n     3\tthree\n")
        self.assertIn("     2\tzwei\n", edit(command="str_replace", path="/workspace/a.txt", old_str="two", new_str="zwei"))
        self.assertIn("     1\tzero\n     2\tone\n", edit(command="insert", path="/workspace/a.txt", insert_line=0, insert_text="zero"))
        self.assertIn("     5\tend\n", edit(command="insert", path="/workspace/a.txt", insert_line=4, insert_text="end\n"))
        self.assertIn("0 to 5", edit(command="insert", path="/workspace/a.txt", insert_line=9, insert_text="x"))
        self.assertEqual(text_of(wire.call("bash", command="cat a.txt")), "zero\none\nzwei\nthree\nend\n")
        self.assertIn("a.txt", edit(command="view", path="/workspace"))
        self.assertEqual(text_of(wire.call("bash", restart=True)), "tool has been restarted.")


if __name__ == "__main__":
    unittest.main()

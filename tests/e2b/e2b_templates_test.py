# SPDX-License-Identifier: Apache-2.0
"""Templates of E2B's wire, asked by hand: what clients do not show, and what no client should do."""
import hashlib
import io
import json
import shlex
import sys
import tarfile
import time
import unittest
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from server import PATIENCE_S, Server  # noqa: E402

KEY, OTHER_KEY = "key-of-one", "key-of-another"
HASH = hashlib.sha256(b"files").hexdigest()


def archive(**files) -> bytes:
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return to.getvalue()


class Templates(unittest.TestCase):
    def setUp(self):
        self.server = Server("serve", "--token", KEY, "--token", OTHER_KEY)
        self.addCleanup(self.server.stop)

    def ask(self, method, path, body=None, key=KEY):
        status, _, content = self.server.ask(method, path, body, headers={"X-API-KEY": key} if key else {})
        return status, json.loads(content) if content else None

    def request(self, name="mine", key=KEY, **more):
        status, made = self.ask("POST", "/v3/templates", {"name": name, **more}, key)
        self.assertEqual(status, 202, made)
        return made["templateID"], made["buildID"]

    def begin(self, template, build, *steps, key=KEY, **more):
        return self.ask("POST", f"/v2/templates/{template}/builds/{build}",
                        {"fromImage": "debian", "steps": list(steps), **more}, key)

    def wait(self, template, build):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            status, report = self.ask("GET", f"/templates/{template}/builds/{build}/status")
            self.assertEqual(status, 200, report)
            if report["status"] in ("ready", "error"):
                return report
            time.sleep(0.02)
        self.fail("the build has no end")

    def pages_of(self, template, build):
        """The log of a build, page by page."""
        said, pages = 0, []
        while not pages or pages[-1]:
            path = f"/templates/{template}/builds/{build}/status?logsOffset={said}"
            pages.append([entry["message"] for entry in self.ask("GET", path)[1]["logEntries"]])
            said += len(pages[-1])
        return pages

    def build(self, name, *steps, **more):
        template, build = self.request(name)
        self.assertEqual(self.begin(template, build, *steps, **more)[0], 202)
        return template, self.wait(template, build)

    def send(self, template, content, hash=HASH):
        status, found = self.ask("GET", f"/templates/{template}/files/{hash}")
        self.assertEqual(status, 201, found)
        return self.server.ask("PUT", urllib.parse.urlsplit(found["url"]).path + "?" +
                               urllib.parse.urlsplit(found["url"]).query, content)[0]

    def test_a_key_is_wanted_and_templates_are_their_owners(self):
        template, build = self.request()
        for method, path in [("GET", "/templates"), ("GET", f"/templates/{template}"),
                             ("POST", "/v3/templates"), ("GET", f"/templates/{template}/files/{HASH}")]:
            self.assertEqual(self.ask(method, path, {} if method == "POST" else None, key=None)[0], 401, path)
        for method, path in [("GET", f"/templates/{template}"), ("DELETE", f"/templates/{template}"),
                             ("GET", f"/templates/{template}/builds/{build}/status"),
                             ("GET", f"/templates/{template}/files/{HASH}"), ("GET", "/templates/aliases/mine"),
                             ("GET", "/templates/mine/tags")]:
            self.assertEqual(self.ask(method, path, key=OTHER_KEY)[0], 404, path)
        self.assertEqual(self.begin(template, build, key=OTHER_KEY)[0], 404)
        self.assertEqual(self.begin(template, build)[0], 202)
        self.assertEqual(self.wait(template, build)["status"], "ready")
        self.assertEqual(self.ask("POST", "/sandboxes", {"templateID": "mine"}, OTHER_KEY)[0], 404)
        self.assertEqual(self.ask("POST", "/sandboxes", {"templateID": "mine"})[0], 201)
        self.assertEqual([each["templateID"] for each in self.ask("GET", "/templates")[1]], [template])
        self.assertEqual(self.ask("GET", "/templates", key=OTHER_KEY)[1], [])
        self.assertEqual(self.ask("GET", "/templates/aliases/base")[1]["templateID"], "base")
        self.assertEqual(self.ask("GET", "/templates/aliases/nothing")[0], 404)
        self.request("mine", OTHER_KEY)  # the name is free for somebody else

    def test_files_are_sent_with_a_ticket_of_their_own(self):
        template, _ = self.request()
        _, found = self.ask("GET", f"/templates/{template}/files/{HASH}")
        self.assertFalse(found["present"])
        path = urllib.parse.urlsplit(found["url"]).path
        query = urllib.parse.urlsplit(found["url"]).query
        other = hashlib.sha256(b"others").hexdigest()
        for target in [path, path + "?ticket=", path + "?ticket=" + "0" * 64, path.replace(HASH, other) + "?" + query]:
            self.assertEqual(self.server.ask("PUT", target, b"x")[0], 403, target)
        self.assertEqual(self.server.ask("PUT", f"{path}?{query}", archive(a=b"b"))[0], 200)
        self.assertTrue(self.ask("GET", f"/templates/{template}/files/{HASH}")[1]["present"])
        self.assertEqual(self.server.ask("PUT", f"{path}?{query}", bytes((64 << 20) + 1))[0], 413)
        for hash in ("0" * 63, "X" * 64, "..%2f..%2fetc"):
            self.assertEqual(self.ask("GET", f"/templates/{template}/files/{hash}")[0], 400, hash)

    def test_what_copies_say_when_they_cannot(self):
        copy = {"type": "COPY", "args": ["a", "/opt/a"], "filesHash": HASH}
        template, report = self.build("none", copy)
        self.assertEqual((report["status"], report["reason"]["step"]), ("error", "1"))
        self.assertIn("not sent", report["reason"]["message"])
        self.assertEqual(self.ask("GET", "/templates/aliases/none")[0], 404)
        self.assertEqual(self.send(template, b"this is no archive"), 200)
        self.assertEqual(self.build("none", copy)[1]["status"], "error")
        self.assertEqual(self.send(template, archive(b=b"text")), 200)
        self.assertIn("no a", self.build("none", copy)[1]["reason"]["message"])
        self.assertEqual(self.send(template, archive(**{"a": b"text", "../../outside": b"x"})), 200)
        self.build("none", copy)  # whatever tar makes of that, it is inside

    def test_variables_are_put_into_what_steps_say(self):
        template, _ = self.request("variables")
        self.assertEqual(self.send(template, archive(one=b"1")), 200)
        odd = "a \\ \" ` $(exit 3) 'b'"
        _, report = self.build(
            "variables", {"type": "ENV", "args": ["PATH", "/opt/own/bin:$PATH", "OLD", "${PATH}", "ODD", odd]},
            {"type": "ENV", "args": ["APP", "/srv/app", "NONE", "<$NOBODY>"]},
            {"type": "WORKDIR", "args": ["$APP/deep"]}, {"type": "COPY", "args": ["one", "${APP}/two"], "filesHash": HASH},
            {"type": "RUN", "args": [f"""
                [[ $PATH == "/opt/own/bin:$OLD" && $OLD == *:/usr/bin:* && $NONE == "<>" ]] || exit 1
                [[ $ODD == {shlex.quote(odd)} ]] || exit 2
                [[ $PWD == /srv/app/deep && $(stat -c %U .. .) == $'user\nuser' && $(<../two) == 1 ]] || exit 3"""]})
        self.assertEqual(report["status"], "ready", report)
        _, report = self.build("wrong", {"type": "ENV", "args": ["A", "${a b}"]})
        self.assertEqual((report["status"], report["reason"]["step"]), ("error", "1"))
        grows = [{"type": "ENV", "args": ["A", "$A$A" if i else "a" * 1000]} for i in range(10)]
        self.assertIn("more than", self.build("grows", *grows)[1]["reason"]["message"])

    def test_a_copy_leaves_folders_that_are_there_to_their_owners(self):
        template, _ = self.request("merged")
        self.assertEqual(self.send(template, archive(**{"from/one": b"1", "from/there/two": b"2", "from/new/three": b"3"})), 200)
        _, report = self.build(
            "merged", {"type": "RUN", "args": ["mkdir -m 1777 /srv/to; mkdir /srv/to/there /srv/own; ln -s ../own /srv/to/new", "root"]},
            {"type": "COPY", "args": ["from", "/srv/to", "user", "640"], "filesHash": HASH},
            {"type": "RUN", "args": ["cd /srv/to; stat -c '%a %U %F' . there new one there/two new/three", "root"]})
        said = [entry["message"] for entry in report["logEntries"] if entry["step"] == "3"][1:]
        self.assertEqual(said, ["1777 root directory", "755 root directory", "777 root symbolic link", "640 user regular file",
                                "640 user regular file", "640 user regular file"], report)

    def test_a_build_is_begun_once_and_the_latest_counts(self):
        first, old = self.request()
        second, new = self.request()
        self.assertEqual(first, second)
        self.assertEqual(self.begin(first, old)[0], 404)
        self.assertEqual(self.begin(first, new, {"type": "RUN", "args": ["sleep 100"]})[0], 202)
        self.assertEqual(self.begin(first, new)[0], 409)
        self.assertEqual(self.ask("POST", "/v3/templates", {"name": "mine"})[0], 409)
        self.assertEqual(self.ask("GET", "/v2/sandboxes")[1], [])  # where it is built is nobody's to see
        self.assertEqual(self.ask("DELETE", "/templates/mine")[0], 204)
        self.assertEqual(self.ask("GET", f"/templates/{first}/builds/{new}/status")[0], 404)

    def test_builds_that_are_deleted_keep_no_place_among_those_that_wait(self):
        step = {"type": "RUN", "args": ["sleep 1000"]}
        for number in range(2 + 16 + 1):
            template, build = self.request(f"long-{number}")
            self.assertEqual(self.begin(template, build, step)[0], 202 if number < 18 else 429, number)
        self.assertEqual(self.ask("DELETE", "/templates/long-17")[0], 204)
        self.assertEqual(self.begin(template, build, step)[0], 202)
        for number in [*range(17), 18]:
            self.assertEqual(self.ask("DELETE", f"/templates/long-{number}")[0], 204)

    def test_builds_take_turns(self):
        begun = []
        for number in range(5):
            template, build = self.request(f"turn-{number}")
            step = {"type": "RUN", "args": ["sleep 1000" if number < 2 else "true"]}
            self.assertEqual(self.begin(template, build, step)[0], 202)
            begun.append((template, build))
        for template, build in begun[2:]:
            self.assertEqual(self.ask("GET", f"/templates/{template}/builds/{build}/status")[1]["status"], "waiting")
        self.assertEqual(self.begin(*begun[-1])[0], 409)
        for number in (4, 0, 1):  # one that does not come to its turn, and two that give theirs up
            self.assertEqual(self.ask("DELETE", f"/templates/turn-{number}")[0], 204)
        for template, build in begun[2:4]:
            self.assertEqual(self.wait(template, build)["status"], "ready")

    def test_what_only_sleeps_is_waited_for_by_the_build_alone(self):
        serve = "python3 -m http.server 8123 >/dev/null & sleep 1000"
        template, report = self.build("served", startCmd=serve, readyCmd=" sleep 21 ")  # clients': for a CMD
        self.assertEqual(report["status"], "ready", report)
        status, made = self.ask("POST", "/sandboxes", {"templateID": "served", "secure": False})
        self.assertEqual(status, 201, made)
        to_port = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "8123"}
        self.assertEqual(self.server.ask("GET", "/", headers=to_port)[0], 200)
        template, report = self.build("silent", startCmd="sleep 1000", readyCmd="sleep 0.1")
        self.assertEqual(self.ask("POST", "/sandboxes", {"templateID": "silent"})[0], 201)

    def test_a_build_that_is_deleted_stops_waiting_for_its_service(self):
        for name in ("never", "neither"):  # as many as are built at a time
            self.assertEqual(self.begin(*self.request(name), startCmd="true", readyCmd="false")[0], 202)
        other = self.request("waits")
        self.assertEqual(self.begin(*other)[0], 202)
        for name in ("never", "neither"):
            self.assertEqual(self.ask("DELETE", f"/templates/{name}")[0], 204)
        self.assertEqual(self.wait(*other)["status"], "ready")

    def test_names_and_numbers_are_checked(self):
        for wish in ({}, {"name": ""}, {"name": 7}, {"name": "a b"}, {"name": "x" * 200}, {"name": "a", "tags": "t"},
                     {"name": "a", "tags": [7]}, {"name": "a", "tags": ["a b"]}, {"name": "a:"}):
            self.assertEqual(self.ask("POST", "/v3/templates", wish)[0], 400, wish)
        template, build = self.request()
        self.assertEqual(self.ask("GET", f"/templates/{template}/builds/{build}/status?logsOffset=x")[0], 400)
        self.assertEqual(self.ask("GET", f"/templates/{template}/builds/{build}/status?logsOffset=999999")[0], 200)
        self.assertEqual(self.begin(template, build, {"type": "RUN"})[0], 400)
        self.assertEqual(self.ask("POST", "/templates/tags", {"target": "mine", "tags": []})[0], 400)
        self.assertEqual(self.ask("POST", "/templates/tags", {"target": "mine", "tags": ["t"]})[0], 404)
        self.assertEqual(self.ask("PATCH", "/v2/templates/mine", {"public": True})[0], 501)
        self.assertEqual(self.ask("PATCH", "/v2/templates/mine", {"public": False}), (200, {"names": ["mine"]}))
        self.assertEqual(self.ask("PATCH", "/v2/templates/other", {"public": False})[0], 404)

    def test_there_are_only_so_many(self):
        for number in range(50):
            self.request(f"mine-{number}")
        self.assertEqual(self.ask("POST", "/v3/templates", {"name": "one-more"})[0], 429)
        self.assertEqual(self.ask("DELETE", "/templates/mine-7")[0], 204)
        self.request("one-more")

    def test_what_a_build_prints_is_told_page_by_page(self):
        template, build = self.request()
        self.begin(template, build, {"type": "RUN", "args": ["seq 250; printf '%9000d\\n' 7; echo end"]})
        self.assertEqual(self.wait(template, build)["status"], "ready")
        pages = self.pages_of(template, build)
        self.assertLessEqual(max(map(len, pages)), 100)
        said = [message for page in pages for message in page]
        self.assertIn("250", said)
        self.assertIn("end", said)
        self.assertLessEqual(max(map(len, said)), 4096)

    def test_both_streams_of_a_step_may_come_at_once(self):
        words = "for i in $(seq 1000); do echo out-$i; done & for i in $(seq 1000); do echo err-$i >&2; done; wait"
        template, build = self.request()
        self.begin(template, build, {"type": "RUN", "args": [words]})
        self.assertEqual(self.wait(template, build)["status"], "ready")
        said = [message for page in self.pages_of(template, build) for message in page]
        for stream in ("out", "err"):
            lines = [line for line in said if line.startswith(stream + "-")]
            self.assertEqual(lines, [f"{stream}-{i}" for i in range(1, 1001)])


if __name__ == "__main__":
    unittest.main()

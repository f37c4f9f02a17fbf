# SPDX-License-Identifier: Apache-2.0
"""E2B's wire, asked by hand: what the clients do not show, and what no client should do."""
import base64
import datetime
import hashlib
import http.client
import json
import struct
import sys
import time
import unittest
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from server import PATIENCE_S, SANITIZED, Server, until  # noqa: E402
from websocket import Rpc  # noqa: E402

KEY, OTHER_KEY = "key-of-one", "key-of-another"


def framed(message) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack(">BI", 0, len(text)) + text


def frames(data: bytes):
    """(flags, message) of a body, or of what came of it."""
    found = []
    while len(data) >= 5:
        flags, size = struct.unpack(">BI", data[:5])
        found.append((flags, json.loads(data[5:5 + size])))
        data = data[5 + size:]
    return found


class Box:
    def __init__(self, server, key=KEY, path="/v2/sandboxes", **wish):
        self.server, self.key = server, key
        status, _, body = server.ask("POST", path, {"templateID": "base", "timeout": 300, **wish},
                                     headers={"X-API-KEY": key})
        assert status == 201, body
        self.made = json.loads(body)
        self.id = self.made["sandboxID"]

    def rest(self, method, action="", body=None, key=None):
        status, headers, content = self.server.ask(
            method, f"/sandboxes/{self.id}{action}", body, headers={"X-API-KEY": key or self.key})
        return status, json.loads(content) if content else None

    def headers(self, port=49983, token=True):
        headers = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port)}
        if token and "envdAccessToken" in self.made:
            headers["X-Access-Token"] = self.made["envdAccessToken"]
        return headers

    def signed(self, operation, path, user="", expiration="", token=None):
        text = f"{path}:{operation}:{user}:{token or self.made['envdAccessToken']}" + (f":{expiration}" if expiration else "")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        query = "&".join(f"{name}={value}" for name, value in [
            ("path", path), ("username", user), ("signature_expiration", expiration),
            ("signature", ("v1_" + digest).replace("+", "%2B").replace("/", "%2F"))] if value)
        return "/files?" + query

    def agent(self, method, path, body=None, **headers):
        status, fields, content = self.server.ask(method, path, body, headers={**self.headers(), **headers})
        return status, fields, content

    def call(self, name, message, **headers):
        status, _, content = self.agent("POST", "/" + name, message, **headers)
        return status, json.loads(content)

    def stream(self, name, message, **headers):
        """All frames of a call that streams."""
        status, _, content = self.agent("POST", "/" + name, framed(message),
                                        **{"Content-Type": "application/connect+json", **headers})
        assert status == 200
        return frames(content)

    def start(self, command, **more):
        headers = more.pop("headers", {})
        return self.stream("process.Process/Start",
                           {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command], **more.pop("process", {})},
                            "stdin": False, **more}, **headers)

    def run(self, command, **more):
        """(stdout, stderr, end event, last frame)"""
        out, err, end, last = b"", b"", None, None
        for flags, message in self.start(command, **more):
            if flags == 2:
                last = message
                continue
            event = message["event"]
            out += base64.b64decode(event.get("data", {}).get("stdout", ""))
            err += base64.b64decode(event.get("data", {}).get("stderr", ""))
            end = event.get("end", end)
        return out.decode(), err.decode(), end, last


class WithServer(unittest.TestCase):
    words = ["--token", KEY, "--token", OTHER_KEY]

    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", *cls.words)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0


class Sandboxes(WithServer):
    def test_a_key_is_asked_for_and_sees_its_own_alone(self):
        status, _, body = self.server.ask("POST", "/v2/sandboxes", {"templateID": "base"})
        self.assertEqual((status, json.loads(body)["code"]), (401, 401))
        status, _, _ = self.server.ask("GET", "/v2/sandboxes", headers={"X-API-KEY": "nobody's"})
        self.assertEqual(status, 401)
        box = Box(self.server)
        for method, action in [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/timeout"), ("GET", "/metrics")]:
            self.assertEqual(box.rest(method, action, {} if method == "POST" else None, OTHER_KEY)[0], 404)
        status, _, body = self.server.ask("GET", "/v2/sandboxes", headers={"X-API-KEY": OTHER_KEY})
        self.assertNotIn(box.id, body.decode())
        status, _, body = self.server.ask("GET", "/v2/sandboxes", headers={"Authorization": "Bearer " + KEY})
        self.assertIn(box.id, body.decode())
        self.assertEqual(box.rest("DELETE")[0], 204)
        self.assertEqual(box.rest("DELETE")[0], 404)

    def test_what_is_made_is_told_and_listed(self):
        box = Box(self.server, metadata={"who": "a b&c"}, envVars={"SEEN": "yes"})
        self.assertRegex(box.id, "^[a-z0-9]{20}$")
        self.assertEqual((box.made["envdVersion"], box.made["domain"]), ("0.6.13", None))
        status, detail = box.rest("GET")
        self.assertEqual((status, detail["state"], detail["metadata"]), (200, "running", {"who": "a b&c"}))
        self.assertFalse(detail["allowInternetAccess"])
        form = urllib.parse.urlencode({"who": urllib.parse.quote("a b&c")})
        status, headers, body = self.server.ask("GET", "/v2/sandboxes?" + urllib.parse.urlencode({"metadata": form}),
                                                headers={"X-API-KEY": KEY})
        self.assertEqual([each["sandboxID"] for each in json.loads(body)], [box.id])
        self.assertNotIn("X-Next-Token", headers)
        box.rest("DELETE")

    def test_lists_come_in_pages(self):
        boxes = [Box(self.server, metadata={"page": "yes"}) for _ in range(3)]
        found, token = [], ""
        while True:
            status, headers, body = self.server.ask(
                "GET", f"/v2/sandboxes?metadata=page%3Dyes&limit=2&nextToken={token}", headers={"X-API-KEY": KEY})
            self.assertEqual(status, 200)
            found += [each["sandboxID"] for each in json.loads(body)]
            if "X-Next-Token" not in headers:
                break
            token = headers["X-Next-Token"]
        self.assertEqual(found, [box.id for box in reversed(boxes)])
        for box in boxes:
            box.rest("DELETE")

    def test_lists_of_those_that_started_later(self):
        box = Box(self.server, metadata={"page": "later"})

        def later_than(time):
            status, _, body = self.server.ask("GET", "/v2/sandboxes?" + urllib.parse.urlencode(
                {"metadata": "page=later", "startedAfter": time}), headers={"X-API-KEY": KEY})
            return len(json.loads(body)) if status == 200 else status

        started = datetime.datetime.fromisoformat(box.rest("GET")[1]["startedAt"].replace("Z", "+00:00"))
        self.assertEqual(later_than(started.isoformat()), 1)
        for minutes, count in [(-1, 1), (1, 0)]:
            time = started + datetime.timedelta(minutes=minutes)
            for hours in [0, 2, -3]:
                there = time.astimezone(datetime.timezone(datetime.timedelta(hours=hours)))
                self.assertEqual(later_than(there.isoformat()), count, there)
            plain = time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
            for end in ["", ".", ".5", ".123456Z", "Z"]:
                self.assertEqual(later_than(plain + end), count, end)
        for wrong in ["soon", "2020-01-01T00:00:00 noon", "2020-01-01T00:00:00Z0"]:
            self.assertEqual(later_than(wrong), 400, wrong)
        box.rest("DELETE")

    def test_metrics_of_a_time(self):
        box = Box(self.server)
        now = int(time.time())
        for query, count in [("", 1), (f"?start={now - 60}&end={now}", 1), (f"?start={now - 7200}&end={now - 3600}", 0),
                             (f"?start={now + 3600}", 0)]:
            self.assertEqual(len(box.rest("GET", "/metrics" + query)[1]), count, query)
        self.assertEqual(box.rest("GET", "/metrics?start=soon")[0], 400)
        box.rest("DELETE")

    def test_what_makes_no_sense_is_refused(self):
        def make(status, **body):
            self.assertEqual(self.server.ask("POST", "/v2/sandboxes", body, headers={"X-API-KEY": KEY})[0], status, body)
        make(400)
        make(404, templateID="nothing")
        make(400, templateID="base", timeout=-1)
        make(400, templateID="base", timeout=86401)
        make(400, templateID="base", timeout="1")
        make(400, templateID="base", metadata={"a": 1})
        make(400, templateID="base", envVars={"a=b": "c"})
        make(400, templateID="base", network={"rules": {"x": []}, "egressProxy": {"address": "y"}})
        make(400, templateID="base", network={"allowOut": ["not a rule"]})
        make(501, templateID="base", volumeMounts=[{"name": "v", "path": "/v"}])
        self.assertEqual(self.server.ask("POST", "/v2/sandboxes", "{", headers={"X-API-KEY": KEY})[0], 400)

    def test_a_request_that_is_said_twice_is_done_once(self):
        def make(**body):
            status, _, content = self.server.ask("POST", "/v2/sandboxes", {"templateID": "base", **body},
                                                 headers={"X-API-KEY": KEY, "Idempotency-Key": "k"})
            return status, json.loads(content)
        first, second = make(), make()
        self.assertEqual((first[0], first), (201, second))
        status, other = make(timeout=17)
        self.assertEqual((status, other["error_code"]), (409, "idempotency_request_mismatch"))

    def test_pause_keeps_processes_and_resume_lets_them_go_on(self):
        box = Box(self.server)
        self.assertEqual(box.run("echo kept > f; (while [ ! -e go ]; do sleep 0.01; done; echo done > g) "
                                 ">/dev/null 2>&1 & true")[2]["status"], "exit status 0")
        self.assertEqual(box.rest("POST", "/pause", {})[0], 204)
        self.assertEqual(box.rest("POST", "/pause", {})[0], 409)
        self.assertEqual(box.rest("POST", "/timeout", {"timeout": 0})[0], 409)
        self.assertEqual(box.rest("POST", "/refreshes", {"duration": 3000})[0], 409)
        self.assertEqual(box.rest("GET")[1]["state"], "paused")
        status, _, body = box.agent("GET", "/health")
        self.assertEqual((status, json.loads(body)["message"]), (502, "The sandbox was not found"))
        self.assertEqual(box.rest("POST", "/connect", {"timeout": 60})[0], 201)
        self.assertEqual(box.rest("POST", "/connect", {"timeout": 60})[0], 200)
        self.assertEqual(box.rest("POST", "/resume", {"timeout": 60})[0], 409)
        self.assertEqual(box.run("touch go; while [ ! -s g ]; do sleep 0.01; done; cat f g")[0], "kept\ndone\n")
        self.assertEqual(box.rest("POST", "/pause", {"memory": False})[0], 204)
        self.assertEqual(box.rest("POST", "/resume", {"timeout": 60})[0], 201)
        self.assertEqual(box.run("cat f")[0], "kept\n")

    def test_snapshots_and_forks_go_on_by_themselves(self):
        box = Box(self.server)
        box.run("echo one > f")
        status, snapshot = box.rest("POST", "/snapshots", {"name": "first"})
        self.assertEqual(status, 201)
        box.run("echo two > f")
        twin = Box(self.server, templateID=snapshot["snapshotID"])
        self.assertEqual((twin.run("cat f")[0], box.run("cat f")[0]), ("one\n", "two\n"))
        status, forks = box.rest("POST", "/fork", {"count": 2, "timeout": 60})
        self.assertEqual((status, [list(each) for each in forks]), (201, [["sandbox"], ["sandbox"]]))
        _, _, body = self.server.ask("GET", "/snapshots", headers={"X-API-KEY": KEY})
        self.assertEqual([each["snapshotID"] for each in json.loads(body)], [snapshot["snapshotID"]])
        self.assertEqual(json.loads(self.server.ask("GET", "/snapshots", headers={"X-API-KEY": OTHER_KEY})[2]), [])
        path = "/templates/" + snapshot["snapshotID"]
        self.assertEqual(self.server.ask("DELETE", path, headers={"X-API-KEY": OTHER_KEY})[0], 404)
        self.assertEqual(self.server.ask("DELETE", path, headers={"X-API-KEY": KEY})[0], 204)
        self.assertEqual(twin.run("cat f")[0], "one\n")

    def test_one_whose_time_is_over_is_gone_or_paused(self):
        gone, kept = Box(self.server, timeout=0), Box(self.server, timeout=0, autoPause=True, autoResume={"enabled": True})
        while gone.rest("GET")[0] != 404 or kept.rest("GET")[1]["state"] != "paused":
            pass
        self.assertEqual(kept.agent("GET", "/health")[0], 204)  # and so it goes on, for a while
        self.assertEqual(kept.run("echo here")[0], "here\n")
        self.assertEqual(kept.rest("POST", "/pause", {})[0], 204)
        for _ in range(30):  # whether that is over before it runs or after
            self.assertEqual(kept.rest("POST", "/connect", {"timeout": 0})[0], 201)
            until(lambda: kept.rest("GET")[1]["state"] == "paused", "it is paused again")


    def test_one_that_cannot_be_paused_at_its_end_runs_on(self):
        box = Box(self.server, autoPause=True, autoPauseMemory=False)
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        self.assertEqual(box.run("mv /dev /before; echo no folder > /dev; echo done", headers=root)[0], "done\n")
        self.assertEqual(box.rest("POST", "/timeout", {"timeout": 0})[0], 204)
        until(lambda: f"session {box.id} cannot be paused" in self.server.log(), "its end has come")
        self.assertEqual(box.rest("GET")[1]["state"], "running")
        self.assertEqual(box.run("rm /dev; mv /before /dev; echo on", headers=root)[0], "on\n")
        self.assertEqual(box.rest("POST", "/timeout", {"timeout": 0})[0], 204)
        until(lambda: box.rest("GET")[1]["state"] == "paused", "it can be now")

    def test_a_command_without_an_end_keeps_nothing_from_its_end(self):
        # By a request, and because its time is over.
        for ends in [lambda box: box.rest("POST", "/pause", {"memory": False}),
                     lambda box: box.rest("POST", "/timeout", {"timeout": 0})]:
            box, other = Box(self.server, autoPause=True, autoPauseMemory=False), Box(self.server, key=OTHER_KEY)
            with Rpc(self.server.port, KEY) as rpc:
                rpc.call("create", sessionId=box.id)
                rpc.call("run", command="word=kept")
                endless = rpc.send("run", command="word=lost; touch on; sleep 100000", timeoutMs=0)
                until(lambda: box.run("ls on")[0] == "on\n", "the command runs")
                self.assertEqual(ends(box)[0], 204)
                self.assertEqual(other.rest("POST", "/timeout", {"timeout": 0})[0], 204)
                until(lambda: other.rest("GET")[0] == 404, "the other one has ended")
                until(lambda: box.rest("GET")[1]["state"] == "paused", "it is paused")
                self.assertNotEqual(rpc.answer_to(endless)["exitCode"], 0)
                self.assertEqual(box.rest("POST", "/connect", {"timeout": 60})[0], 201)
                self.assertEqual(rpc.call("run", command="echo $word")["stdout"], "kept\n")
            self.assertEqual(box.rest("DELETE")[0], 204)


class Access(WithServer):
    def test_the_agent_wants_the_sandbox_s_token(self):
        box, other = Box(self.server), Box(self.server)
        for headers, status in [(box.headers(token=False), 401),
                                ({**box.headers(), "X-Access-Token": other.made["envdAccessToken"]}, 401),
                                ({**box.headers(), "X-Access-Token": KEY}, 401), (box.headers(), 200)]:
            self.assertEqual(self.server.ask("POST", "/process.Process/List", {}, headers=headers)[0], status)
        self.assertEqual(self.server.ask("GET", "/health", headers=box.headers(token=False))[0], 204)
        self.assertEqual(self.server.ask("GET", "/health", headers={"E2b-Sandbox-Id": box.id})[0], 400)
        nobody = {"E2b-Sandbox-Id": "a" * 20, "E2b-Sandbox-Port": "49983"}
        self.assertEqual(self.server.ask("GET", "/health", headers=nobody)[0], 502)
        self.assertEqual(self.server.ask("GET", "/health", headers={"Host": f"49983-{box.id}.any.where"})[0], 204)
        closed = {"Host": f"8123-{box.id}.any.where"}
        status, _, body = self.server.ask("GET", "/", headers=closed)
        self.assertEqual((status, json.loads(body)["message"]), (502, "The sandbox is running but port is not open"))
        self.assertEqual(box.agent("POST", "/init", {})[0], 404)

    def test_without_tokens_where_they_were_not_wanted(self):
        box = Box(self.server, path="/sandboxes", secure=False)
        self.assertNotIn("envdAccessToken", box.made)
        self.assertEqual(box.run("echo free", headers={"Authorization": "Basic dXNlcjo="})[0], "free\n")
        with Server("serve", "--e2b-secure-only") as server:
            status, _, _ = server.ask("POST", "/sandboxes", {"templateID": "base", "secure": False},
                                      headers={"X-API-KEY": "any"})
            self.assertEqual(status, 400)

    def test_a_file_is_no_page_of_the_server(self):
        """Whoever may sign an address would have a page of this server's origin otherwise, with the console's cookie."""
        box = Box(self.server)
        for name in ["a.html", "a.svg", "a.xml", "a.js", "a", "a.htm"]:
            self.assertEqual(self.server.ask("POST", box.signed("write", name), b"<script>alert(1)</script>",
                                             headers={"Content-Type": "application/octet-stream"})[0], 200)
            for fields in [self.server.ask("GET", box.signed("read", name))[1],
                           self.server.ask("GET", box.signed("read", name), headers={"Range": "bytes=0-3"})[1],
                           box.agent("GET", f"/files?path={name}")[1]]:
                rules = fields["Content-Security-Policy"].split()
                self.assertEqual(rules[0], "sandbox", name)
                self.assertNotIn("allow-same-origin", rules, name)
                self.assertEqual(fields["X-Content-Type-Options"], "nosniff", name)

    @unittest.skipIf(SANITIZED, "what it costs is the sanitizer's")
    def test_an_address_that_nobody_signed_costs_little(self):
        """Each sandbox is asked whether it is its own: long words are not hashed anew for each."""
        with Server("serve", "--token", KEY) as server:
            boxes = [Box(server) for _ in range(60)]
            connection = server.connection()

            def asked(count, address):
                before = server.cpu_s()
                for _ in range(count):
                    self.assertEqual(server.ask("GET", address, connection=connection)[0], 401)
                return server.cpu_s() - before
            wrong = "signature=v1_" + "A" * 43
            asked(20, f"/files?path=a&{wrong}")
            short, long = asked(400, f"/files?path=a&{wrong}"), asked(400, f"/files?path={'a' * 15000}&{wrong}")
            self.assertLess(long, 5 * short + 0.3, (short, long, len(boxes)))

    def test_signed_addresses(self):
        box, other = Box(self.server), Box(self.server)
        signed = box.signed
        octets = {"Content-Type": "application/octet-stream"}
        status, _, body = self.server.ask("POST", signed("write", "f", "user"), b"signed", headers=octets)
        self.assertEqual((status, json.loads(body)[0]["path"]), (200, "/home/user/f"))
        self.assertEqual(self.server.ask("GET", signed("read", "f"))[2], b"signed")
        self.assertEqual(self.server.ask("GET", signed("read", "f", expiration="99999999999"))[0], 200)
        for wrong in [signed("read", "f", expiration="1"), signed("write", "f"), signed("read", "g").replace("path=g", "path=f"),
                      signed("read", "f", token="nobody's"), signed("read", "f", expiration="99999999999").replace("9&", "8&")]:
            self.assertEqual(self.server.ask("GET", wrong)[0], 401, wrong)
        late = self.server.ask("GET", signed("read", "f", expiration="1"))
        self.assertEqual(json.loads(late[2]), {"code": 401, "message": "signature is already expired"})
        self.assertEqual(self.server.ask("GET", signed("read", "f"), headers=other.headers(token=False))[0], 401)


class Processes(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.box = Box(cls.server)

    def test_how_it_ends(self):
        self.assertEqual(self.box.run("echo out; echo err >&2"), (
            "out\n", "err\n", {"exited": True, "status": "exit status 0"}, {}))
        self.assertEqual(self.box.run("exit 3")[2], {
            "exitCode": 3, "exited": True, "status": "exit status 3", "error": "exit status 3"})
        self.assertEqual(self.box.run("kill -9 $$")[2], {"exitCode": -1, "status": "signal: killed", "error": "signal: killed"})
        out, _, end, last = self.box.run("echo begun; sleep 1000", headers={"Connect-Timeout-Ms": "500"})
        self.assertEqual((end, last["error"]["code"]), (None, "deadline_exceeded"))
        self.assertEqual(self.box.run("(sleep 0.3; echo late) & echo early")[0], "early\nlate\n")

    def test_it_cannot_begin(self):
        for process in [{"cwd": "/no/such"}, {"cmd": "/no/such"}, {"cmd": ""}, {"args": [1]}, {"envs": {"a": 1}}]:
            (flags, last), = self.box.start("true", process=process)
            self.assertEqual((flags, last["error"]["code"]), (2, "invalid_argument"), process)
        (_, last), = self.box.start("true", headers={"Authorization": "Basic " + base64.b64encode(b"eve:").decode()})
        self.assertEqual(last["error"]["code"], "unauthenticated")

    def test_who_and_where_it_is(self):
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        self.assertEqual(self.box.run("id -un; pwd; echo $HOME $USER; readlink /workspace")[0],
                         "user\n/home/user\n/home/user user\n/home/user\n")
        self.assertEqual(self.box.run("id -un; pwd; echo $HOME", headers=root)[0], "root\n/root\n/root\n")
        self.assertEqual(self.box.run("touch /usr/new; ls /usr/new; rm /usr/new", headers=root)[0], "/usr/new\n")
        self.assertNotEqual(self.box.run("touch /usr/new")[2].get("exitCode", 0), 0)
        self.assertEqual(self.box.run("sudo -E A=b sh -c 'echo $A'")[0], "b\n")
        self.assertEqual(self.box.run("echo $A", process={"envs": {"A": "b"}, "cwd": "/tmp"})[0], "b\n")

    def test_several_listen_and_one_leaves(self):
        connection = self.server.connection()
        connection.request("POST", "/process.Process/Start", framed(
            {"process": {"cmd": "/bin/cat"}, "tag": "cat"}), {**self.box.headers(), "Content-Type": "application/connect+json"})
        answer = connection.getresponse()
        head = answer.read(5)
        pid = json.loads(answer.read(struct.unpack(">BI", head)[1]))["event"]["start"]["pid"]
        status, listed = self.box.call("process.Process/List", {})
        self.assertIn({"config": {"cmd": "/bin/cat"}, "pid": pid, "tag": "cat"}, listed["processes"])
        second = self.server.connection()
        second.request("POST", "/process.Process/Connect", framed({"process": {"tag": "cat"}}),
                       {**self.box.headers(), "Content-Type": "application/connect+json"})
        other = second.getresponse()
        size = struct.unpack(">BI", other.read(5))[1]
        self.assertEqual(json.loads(other.read(size)), {"event": {"start": {"pid": pid}}})
        connection.close()
        text = base64.b64encode(b"hello\n").decode()
        self.assertEqual(self.box.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": text}}), (200, {}))
        self.assertEqual(self.box.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"pty": text}})[1]["code"], "internal")
        self.assertEqual(self.box.call("process.Process/CloseStdin", {"process": {"pid": pid}}), (200, {}))
        rest = frames(other.read())
        self.assertEqual([list(message.get("event", message)) for _, message in rest], [["data"], ["end"], []])
        again = self.box.stream("process.Process/Connect", {"process": {"pid": pid}})
        self.assertEqual([list(message.get("event", message)) for _, message in again], [["start"], ["end"], []])
        status, gone = self.box.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
        self.assertEqual((status, gone["code"]), (404, "not_found"))

    def test_input_that_nobody_reads_is_an_error_in_time(self):
        connection = self.server.connection()
        connection.request("POST", "/process.Process/Start", framed({"process": {"cmd": "/bin/sleep", "args": ["1000"]}}),
                           {**self.box.headers(), "Content-Type": "application/connect+json"})
        answer = connection.getresponse()
        pid = json.loads(answer.read(struct.unpack(">BI", answer.read(5))[1]))["event"]["start"]["pid"]
        message = {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(bytes(3000000)).decode()}}
        status, error = self.box.call("process.Process/SendInput", message, **{"Connect-Timeout-Ms": "200"})
        self.assertEqual((status, error["code"]), (504, "deadline_exceeded"))
        self.assertRegex(error["message"], "too slowly: [1-9][0-9]+ of 3000000 bytes")
        self.box.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
        answer.read()

    def test_input_is_whole_for_who_reads_late(self):
        connection = self.server.connection()
        connection.request("POST", "/process.Process/Start",
                           framed({"process": {"cmd": "/bin/sh", "args": ["-c", "sleep 0.2; wc -c"]}}),
                           {**self.box.headers(), "Content-Type": "application/connect+json"})
        answer = connection.getresponse()
        pid = json.loads(answer.read(struct.unpack(">BI", answer.read(5))[1]))["event"]["start"]["pid"]
        message = {"process": {"pid": pid}, "input": {"stdin": base64.b64encode(bytes(3000000)).decode()}}
        self.assertEqual(self.box.call("process.Process/SendInput", message), (200, {}))
        self.assertEqual(self.box.call("process.Process/CloseStdin", {"process": {"pid": pid}}), (200, {}))
        said = [message["event"]["data"]["stdout"] for _, message in frames(answer.read()) if "data" in message.get("event", {})]
        self.assertEqual(b"".join(base64.b64decode(text) for text in said).strip(), b"3000000")

    def test_proxies_are_told_not_to_hold_streams_back(self):
        status, headers, _ = self.box.agent("POST", "/process.Process/Start", framed({"process": {"cmd": "/bin/true"}}),
                                            **{"Content-Type": "application/connect+json"})
        self.assertEqual((status, headers["X-Accel-Buffering"]), (200, "no"))

    def test_a_stream_ends_with_its_sandbox(self):
        box = Box(self.server)
        connection = self.server.connection()
        connection.request("POST", "/process.Process/Start", framed({"process": {"cmd": "/bin/sleep", "args": ["1000"]}}),
                           {**box.headers(), "Content-Type": "application/connect+json"})
        answer = connection.getresponse()
        answer.read(5)
        box.rest("DELETE")
        last = answer.read()
        self.assertIn(b'{"error":{"code":"unavailable","message":"The sandbox was not found"}}', last)
        self.assertNotIn(b'"end"', last)

    def test_silence_is_broken_by_a_keepalive(self):
        events = self.box.start("sleep 1.5", headers={"Keepalive-Ping-Interval": "1"})
        self.assertIn((0, {"event": {"keepalive": {}}}), events)

    def test_much_output_is_whole(self):
        self.assertEqual(len(self.box.run("head -c 3000000 /dev/zero | tr '\\0' x")[0]), 3000000)

    def test_both_streams_at_once_are_whole(self):
        out, err, end, _ = self.box.run("(seq 1 20000 >&2) & seq 20001 40000; wait")
        self.assertEqual((out.split(), err.split()), ([str(i) for i in range(20001, 40001)], [str(i) for i in range(1, 20001)]))
        self.assertEqual(end["status"], "exit status 0")

    def test_a_terminal(self):
        frames_of = self.box.start("stty size; tty", pty={"size": {"cols": 91, "rows": 33}})
        shown = b"".join(base64.b64decode(message.get("event", {}).get("data", {}).get("pty", "")) for _, message in frames_of)
        self.assertEqual(shown, b"33 91\r\n/dev/pts/0\r\n")


class Files(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.box = Box(cls.server)

    def call(self, method, **message):
        return self.box.call("filesystem.Filesystem/" + method, message)

    def put(self, path, content, **headers):
        return self.box.agent("POST", "/files?path=" + path, content, **{"Content-Type": "application/octet-stream", **headers})

    def test_bytes_up_and_down(self):
        content = bytes(range(256)) * 5000
        status, _, body = self.put("deep/er/f.bin", content)
        self.assertEqual((status, json.loads(body)), (200, [{"path": "/home/user/deep/er/f.bin", "name": "f.bin", "type": "file"}]))
        status, headers, body = self.box.agent("GET", "/files?path=~/deep/er/f.bin")
        self.assertEqual((status, body == content, headers["Content-Type"]), (200, True, "application/octet-stream"))
        status, headers, body = self.box.agent("GET", "/files?path=deep/er/f.bin", Range="bytes=10-19")
        self.assertEqual((status, body, headers["Content-Range"]), (206, content[10:20], f"bytes 10-19/{len(content)}"))
        self.assertEqual(self.box.agent("GET", "/files?path=deep/er/f.bin", Range="bytes=-3")[2], content[-3:])
        self.assertEqual(self.box.agent("GET", "/files?path=deep/er/f.bin", Range=f"bytes={len(content)}-")[0], 416)
        self.put("empty", b"")
        self.assertEqual(self.box.agent("GET", "/files?path=empty")[2], b"")
        # What the kernel makes up has no size of its own.
        self.assertEqual(len(self.box.agent("GET", "/files?path=/proc/sys/kernel/random/boot_id")[2]), 37)
        status, _, body = self.box.agent("GET", "/files?path=nothing")
        self.assertEqual((status, json.loads(body)["message"]), (404, "path '/home/user/nothing' does not exist"))
        status, _, body = self.box.agent("GET", "/files?path=/tmp")
        self.assertEqual((status, json.loads(body)["message"]), (400, "path '/tmp' is a directory"))
        self.assertEqual(self.put("/tmp", b"x")[0], 400)
        self.assertEqual(self.put("f", b"x", Authorization="Basic ZXZlOg==")[0], 401)

    def test_forms_and_packed_bodies(self):
        import gzip
        form = b"".join(b'--B\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n' % pair
                        for pair in [(b"one/a", b"1"), (b"/tmp/b", b"2")]) + b"--B--\r\n"
        status, _, body = self.box.agent("POST", "/files", form, **{"Content-Type": "multipart/form-data; boundary=B"})
        self.assertEqual([each["path"] for each in json.loads(body)], ["/home/user/one/a", "/tmp/b"])
        short = b"Written with gzip, read without."
        self.assertEqual(self.put("short", gzip.compress(short), **{"Content-Encoding": "gzip"})[0], 200)
        self.assertEqual(self.box.agent("GET", "/files?path=short")[2], short)
        packed = gzip.compress(b"text" * 100000)
        self.assertEqual(self.put("packed", packed, **{"Content-Encoding": "gzip"})[0], 200)
        self.assertEqual(self.box.agent("GET", "/files?path=packed")[2], b"text" * 100000)
        for broken in [packed[:-1], packed[:-5] + b"12345", b"text", b"", packed + b"more"]:
            self.assertEqual(self.put("broken", broken, **{"Content-Encoding": "gzip"})[0], 400)

    def test_what_a_user_may_not_do_is_done_by_root_for_it(self):
        box = Box(self.server)
        octets = {"Content-Type": "application/octet-stream"}
        self.assertEqual(box.agent("POST", "/files?path=/data/in/f", b"text", **octets)[0], 200)
        self.assertEqual(box.run("cd /data; echo more >> in/f; cat in/f; stat -c %U . in in/f")[0],
                         "textmore\nuser\nuser\nuser\n")
        root = {"Authorization": "Basic cm9vdDo="}
        self.assertEqual(box.agent("POST", "/files?path=/own/f", b"secret", **root, **octets)[0], 200)
        box.run("chmod 700 /own", headers=root)
        self.assertIn("Permission denied", box.run("cat /own/f")[1])
        self.assertEqual(box.agent("GET", "/files?path=/own/f")[2], b"secret")
        self.assertEqual(box.call("filesystem.Filesystem/Stat", {"path": "/own/f"})[1]["entry"]["owner"], "root")
        # What goes to a folder leaves the folder, and what is in it, whose it was.
        box.run("mkdir /own/deep; touch /own/deep/its", headers=root)
        self.assertEqual(box.agent("POST", "/files?path=moved", b"m", **octets)[0], 200)
        moved = {"source": "moved", "destination": "/own/deep/moved"}
        self.assertEqual(box.call("filesystem.Filesystem/Move", moved)[0], 200)
        for path, owner in [("/own/deep", "root"), ("/own/deep/its", "root"), ("/own/deep/moved", "user")]:
            self.assertEqual(box.call("filesystem.Filesystem/Stat", {"path": path})[1]["entry"]["owner"], owner)
        self.assertEqual(box.call("filesystem.Filesystem/Remove", {"path": "/own/deep"})[0], 200)
        self.assertEqual(len(box.call("filesystem.Filesystem/ListDir", {"path": "/own"})[1]["entries"]), 1)
        self.assertEqual(box.call("filesystem.Filesystem/MakeDir", {"path": "/made/deep"})[1]["entry"]["owner"], "user")
        self.assertEqual(box.call("filesystem.Filesystem/Move", {"source": "/own/f", "destination": "/moved/f"})[0], 200)
        self.assertEqual(box.run("ls /moved; touch /moved/g && echo made")[0], "f\nmade\n")
        self.assertEqual(box.call("filesystem.Filesystem/Remove", {"path": "/own"})[0], 200)
        self.assertEqual(box.agent("GET", "/files?path=/own")[0], 404)
        self.assertEqual(box.agent("POST", "/files?path=/proc/none", b"x", **octets)[0], 400)
        box.rest("DELETE")

    @unittest.skipIf(SANITIZED, "what the server has is the sanitizer's too")
    def test_there_are_no_snapshots_beyond_the_servers_memory(self):
        with Server("serve") as server:
            Box(server, key="any")
            usual_mb = int(server.resident_mb())
        with Server("serve", "--memory-limit", f"{usual_mb + 150}M", "--session-files", "1G") as server:
            box = Box(server, key="any")
            self.assertEqual(box.rest("POST", "/snapshots", {})[0], 201)
            for number in range(16):
                got = box.agent("POST", f"/files?path=f{number}", bytes([number]) * (16 << 20),
                                **{"Content-Type": "application/octet-stream"})
                self.assertEqual(got[0], 200)
            self.assertEqual(box.rest("POST", "/snapshots", {})[0], 503)

    def test_a_packed_body_takes_no_more_than_it_may(self):
        import gzip
        octets = {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
        many = gzip.compress(bytes(20 << 20))
        with Server("serve", "--session-files", "16M") as server:
            self.assertEqual(Box(server, key="any").agent("POST", "/files?path=f", many, **octets)[0], 507)
        with Server("serve", "--received-limit", "16M") as server:
            box = Box(server, key="any")
            self.assertEqual(box.agent("POST", "/files?path=f", many, **octets)[0], 413)
            self.assertEqual(box.agent("POST", "/files?path=f", gzip.compress(bytes(4 << 20)), **octets)[0], 200)

    def test_a_file_that_does_not_fit_changes_nothing(self):
        with Server("serve", "--session-files", "1M") as server:
            box = Box(server, key="any")
            octets = {"Content-Type": "application/octet-stream"}
            self.assertEqual(box.agent("POST", "/files?path=f", b"old", **octets)[0], 200)
            self.assertEqual(box.agent("POST", "/files?path=f", b"x" * 1500000, **octets)[0], 507)
            self.assertEqual(box.agent("POST", "/files?path=new", b"x" * 1500000, **octets)[0], 507)
            self.assertEqual(box.run("cat f; ls")[0], "oldf\n")
            # It stays the same file for those who have it open, and for its other names.
            box.run("ln f other; exec 3<f")
            self.assertEqual(box.agent("POST", "/files?path=f", b"newer", **octets)[0], 200)
            self.assertEqual(box.run("cat other")[0], "newer")

    def test_metadata_stays_until_there_is_other(self):
        self.put("m", b"1", **{"X-Metadata-Purpose": "Test"})
        self.assertEqual(self.call("Stat", path="m")[1]["entry"]["metadata"], {"purpose": "Test"})
        self.put("m", b"2", **{"X-Metadata-Other": "x"})
        self.assertEqual(self.call("Stat", path="m")[1]["entry"]["metadata"], {"other": "x"})

    def test_entries(self):
        self.box.run("mkdir -p d/sub; echo hello > d/f; chmod 640 d/f; ln -s f d/link; ln -s nowhere d/dangling; mkdir d/sub/x")
        status, answer = self.call("Stat", path="d/f")
        entry = answer["entry"]
        self.assertEqual({**entry, "modifiedTime": ""}, {
            "name": "f", "type": "FILE_TYPE_FILE", "path": "/home/user/d/f", "size": "6", "mode": 0o640,
            "permissions": "-rw-r-----", "owner": "user", "group": "user", "modifiedTime": ""})
        self.assertEqual(self.call("Stat", path="d")[1]["entry"]["size"], "4096")
        link = self.call("Stat", path="d/link")[1]["entry"]
        self.assertEqual((link["type"], link["isSymlink"], link["symlinkTarget"]), ("FILE_TYPE_FILE", True, "/home/user/d/f"))
        self.assertEqual(self.call("Stat", path="d/dangling")[0], 200)
        self.assertEqual((self.call("Stat", path="no")[0], self.call("Stat", path="no")[1]["code"]), (404, "not_found"))
        self.assertEqual(self.call("Stat", path="~eve/x")[1]["code"], "invalid_argument")
        names = [each["name"] for each in self.call("ListDir", path="d")[1]["entries"]]
        self.assertEqual(names, ["dangling", "f", "link", "sub"])
        paths = [each["path"] for each in self.call("ListDir", path="/home/user/d", depth=2)[1]["entries"]]
        self.assertEqual(paths[-1], "/home/user/d/sub/x")
        self.assertEqual(self.call("ListDir", path="d/f")[1]["code"], "invalid_argument")

    def test_folders_moves_and_removals(self):
        self.assertEqual(self.call("MakeDir", path="a/b/c")[1]["entry"]["path"], "/home/user/a/b/c")
        self.assertEqual(self.call("MakeDir", path="a/b/c")[1]["code"], "already_exists")
        self.put("a/f", b"1")
        self.assertEqual(self.call("MakeDir", path="a/f")[1]["code"], "invalid_argument")
        self.assertEqual(self.call("Move", source="a/f", destination="z/y/f")[1]["entry"]["path"], "/home/user/z/y/f")
        self.assertEqual(self.call("Move", source="a/f", destination="q")[1]["code"], "not_found")
        self.assertEqual((self.call("Remove", path="a"), self.call("Remove", path="a")), ((200, {}), (200, {})))
        self.assertEqual(self.call("Stat", path="a")[0], 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)

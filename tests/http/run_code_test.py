# SPDX-License-Identifier: Apache-2.0
"""`POST /run_code`: what it answers, and that load never makes it answer anything else."""
import base64
import http.client
import json
import sys
import threading
import unittest

from server import PATIENCE_S, Server

TOKEN = "test-token-one"
SPIN = "n = 0\nwhile n < {count}: n += 1\nprint(n)"


class RunCode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve")
        cls.addClassCleanup(cls.server.stop)

    def run_code(self, code: str, language: str = "python", **more) -> dict:
        status, answer = self.server.json("POST", "/run_code", {"code": code, "language": language, **more})
        self.assertEqual(status, 200, answer)
        self.assertEqual(list(answer), ["status", "message", "compile_result", "run_result", "executor_pod_name", "files"])
        return answer

    def test_each_language(self):
        for language, code in (("python", "print(input())"), ("bash", "cat"), ("nodejs", "console.log('hi')"),
                               ("javascript", "console.log('hi')")):
            answer = self.run_code(code, language, stdin="hi\n")
            self.assertEqual((answer["status"], answer["message"], answer["compile_result"]), ("Success", "", None), answer)
            run = answer["run_result"]
            self.assertEqual((run["status"], run["return_code"], run["stdout"], run["stderr"]), ("Finished", 0, "hi\n", ""))
            self.assertGreater(run["execution_time"], 0)

    def test_how_code_fails(self):
        for code, language, return_code, stderr in (
                ("import sys; sys.exit(7)", "python", 7, ""), ("raise ValueError('x')", "python", 1, "ValueError: x"),
                ("kill -9 $$", "bash", -9, ""), ("nonesuch", "bash", 127, "nonesuch"),
                ("throw new Error('x')", "nodejs", 1, "Error: x")):
            answer = self.run_code(code, language)
            run = answer["run_result"]
            self.assertEqual((answer["status"], run["status"], run["return_code"]), ("Failed", "Finished", return_code), answer)
            self.assertIn(stderr, run["stderr"])

    def test_time(self):
        for code, language in (("while True: pass", "python"), ("sleep 1000", "bash"), ("sleep 1000 & wait", "bash"),
                               ("import time\nprint('before', flush=True)\ntime.sleep(1000)", "python")):
            answer = self.run_code(code, language, run_timeout=0.5)
            run = answer["run_result"]
            self.assertEqual((answer["status"], run["status"], run["return_code"]),
                             ("Failed", "TimeLimitExceeded", None), answer)
        self.assertEqual(run["stdout"], "before\n")

    def test_memory(self):
        code = "x = bytearray(300 << 20)\nprint(len(x))"
        self.assertEqual(self.run_code(code)["status"], "Success")
        answer = self.run_code(code, memory_limit_MB=200)
        self.assertEqual((answer["status"], answer["run_result"]["status"]), ("Failed", "Finished"))
        self.assertIn("MemoryError", answer["run_result"]["stderr"])
        self.assertEqual(self.run_code("print(1)", memory_limit_MB=-1)["status"], "Success")

    def test_files(self):
        blob = bytes(range(256)) * 100
        answer = self.run_code("cat data/in.bin > /tmp/out; mkdir folder; ln -s /tmp/out link; ls", "bash",
                               files={"data/in.bin": base64.b64encode(blob).decode(), "/tmp/abs": "", "none": None},
                               fetch_files=["/tmp/out", "link", "folder", "absent", "/tmp/abs"])
        self.assertEqual({path: base64.b64decode(data) for path, data in answer["files"].items()},
                         {"/tmp/out": blob, "link": blob, "/tmp/abs": b""})
        self.assertEqual(answer["run_result"]["stdout"], "data\nfolder\nlink\nmain.sh\n")
        large = self.run_code("head -c 20000000 /dev/zero > large", "bash", fetch_files=["large"])
        self.assertEqual(large["status"], "SandboxError")
        self.assertIn("bytes", large["message"])
        nowhere = self.run_code("true", "bash", files={"/dev/null/x": "AA=="})
        self.assertEqual(nowhere["status"], "SandboxError")

    def test_each_run_is_alone(self):
        self.run_code("echo 1 > /tmp/seen; export A=1; echo x >> ~/.bashrc", "bash")
        answer = self.run_code("ls /tmp; echo $A; cat ~/.bashrc; hostname -I; (echo > /dev/tcp/127.0.0.1/80) 2>&1", "bash")
        self.assertNotIn("seen", answer["run_result"]["stdout"])
        self.assertNotEqual(answer["run_result"]["return_code"], 0)

    def test_output_is_bounded_and_bytes_are_text(self):
        run = self.run_code("head -c 3000000 /dev/zero | tr '\\0' x; printf '\\377' >&2", "bash")["run_result"]
        self.assertEqual((len(run["stdout"]), run["stderr"]), (1 << 20, "\ufffd"))

    def test_what_is_refused(self):
        for body in (b"", b"{", b"[]", {"code": "x"}, {"code": "x", "language": "cpp"}, {"code": 1, "language": "bash"},
                     {"code": "", "language": "bash", "run_timeout": -1}, {"code": "", "language": "bash", "files": {"a": "*"}}):
            status, answer = self.server.json("POST", "/run_code", body)
            self.assertEqual((status, list(answer)), (422, ["detail"]), body)
        self.assertEqual(self.server.ask("GET", "/run_code")[0], 405)
        foreign = {"Origin": "https://elsewhere.example"}
        self.assertEqual(self.server.ask("POST", "/run_code", {"code": "", "language": "bash"}, headers=foreign)[0], 403)

    def test_tokens(self):
        body = {"code": "echo 1", "language": "bash"}
        with Server("serve", "--token", TOKEN) as server:
            self.assertEqual(server.ask("POST", "/run_code", body)[0], 401)
            self.assertEqual(server.ask("POST", "/run_code", body, token=TOKEN)[0], 200)
            for pair, status in ((f"_:{TOKEN}", 200), ("_:wrong", 401), (TOKEN, 401), ("", 401)):
                basic = {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
                self.assertEqual(server.ask("POST", "/run_code", body, headers=basic)[0], status, pair)

    def test_a_batch(self):
        requests = [{"code": f"echo {i}; exit {i % 3}", "language": "bash"} for i in range(100)]
        requests[50] = {"code": "sleep 100", "language": "bash", "run_timeout": 0.2}
        status, answer = self.server.json("POST", "/run_code/batch", {"requests": requests})
        self.assertEqual(status, 200)
        for i, one in enumerate(answer["results"]):
            expected = None if i == 50 else (f"{i}\n", i % 3)
            run = one["run_result"]
            self.assertEqual((run["stdout"], run["return_code"]) if expected else None, expected, one)
        self.assertEqual(answer["results"][50]["run_result"]["status"], "TimeLimitExceeded")
        self.assertEqual(self.server.json("POST", "/run_code/batch", {"requests": []}), (200, {"results": []}))
        for body in ({}, {"requests": 1}, {"requests": [{}]}, {"requests": requests * 3}):
            self.assertEqual(self.server.ask("POST", "/run_code/batch", body)[0], 422)


class Load(unittest.TestCase):
    def test_a_batch_keeps_nobody_out(self):
        with Server("serve", "--token", TOKEN, "--token", "another", "--drain", "0") as server:
            endless = {"code": "sleep 1000", "language": "bash", "run_timeout": 3000}
            hoard = threading.Thread(target=lambda: server.ask("POST", "/run_code/batch", {"requests": [endless] * 100},
                                                               token="another"))
            hoard.start()
            for _ in range(10):
                status, answer = server.json("POST", "/run_code", {"code": "echo hi", "language": "bash"}, token=TOKEN)
                self.assertEqual((status, answer["status"]), (200, "Success"), answer)
            self.assertTrue(hoard.is_alive())
            server.stop()
            hoard.join(PATIENCE_S)

    def test_load_makes_no_wrong_verdict(self):
        """Many more than the machine can run at once, beside sessions that compute: each verdict is what it is alone,
        or there is none: the request is answered 504 and was not run, or ran for too long without computing."""
        with Server("serve") as server:
            alone = {"code": SPIN.format(count=300_000), "language": "python", "run_timeout": 2}
            self.assertEqual(server.json("POST", "/run_code", alone)[1]["status"], "Success")
            kinds = [(alone, ("Success", "Finished", "300000\n")),
                     ({"code": "while :; do :; done", "language": "bash", "run_timeout": 0.3},
                      ("Failed", "TimeLimitExceeded", "")),
                     ({"code": "echo $((6 * 7)); exit 1", "language": "bash", "run_timeout": 1},
                      ("Failed", "Finished", "42\n"))]
            noise = [server.json("POST", "/sessions", {})[1]["sessionId"] for _ in range(6)]
            noisy = [threading.Thread(target=server.ask, daemon=True, args=(
                "POST", f"/sessions/{one}/commands", {"command": "while :; do :; done"})) for one in noise]
            for thread in noisy:
                thread.start()
            seen, lock = [], threading.Lock()

            def ask(number: int) -> None:
                body, expected = kinds[number % len(kinds)]
                status, answer = server.json("POST", "/run_code", body)
                run = answer.get("run_result") or {}
                with lock:
                    seen.append((status, expected, (answer.get("status"), run.get("status"), run.get("stdout"))))

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(60)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for session in noise:
                server.ask("DELETE", f"/sessions/{session}")
            self.assertEqual(len(seen), 60)
            verdicts = 0
            for status, expected, got in seen:
                self.assertIn(status, (200, 504))
                if status == 200 and got[0] != "SandboxError":
                    self.assertEqual(got, expected)
                    verdicts += 1
            self.assertGreater(verdicts, 0)

    def test_the_end_of_the_server_is_no_verdict(self):
        server = Server("serve", "--drain", "0")
        answers = []

        def ask() -> None:
            try:
                answers.append(server.json("POST", "/run_code", {"code": "echo begun; sleep 1000", "language": "bash",
                                                                 "run_timeout": 3000}))
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                answers.append(None)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertEqual(server.stop(), 0)
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(len(answers), 4)
        for answer in answers:
            if answer is not None and answer[0] == 200:
                self.assertEqual(answer[1]["status"], "SandboxError")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)

# SPDX-License-Identifier: Apache-2.0
"""Commands that the client serves: command.invoke, call.*, commands.set."""
import unittest

from wire import WireError, WireTest, decoded, encoded

WINDOW = 1 << 20


class Serving(WireTest):
    """A client that answers one message after the other, by hand."""

    creates = False

    def setUp(self) -> None:
        super().setUp()
        self.wire.call("create", {"commands": [{"name": "serve", "description": "Serves."}, {"name": "other"}]})
        self.waiting: list = []

    def next(self, method: str) -> dict:
        """The next message of that method, or answer of that id; others wait."""
        for i, message in enumerate(self.waiting):
            if message.get("method", message.get("id")) == method:
                return self.waiting.pop(i)
        while True:
            message = self.wire.read()
            if message.get("method", message.get("id")) == method:
                return message
            self.waiting.append(message)

    def invoked(self) -> tuple:
        message = self.next("command.invoke")
        return message["id"], message["params"]

    def ask(self, method: str, **params) -> dict:
        answer = self.next(self.wire.send(method, params))
        if "error" in answer:
            raise WireError(**answer["error"])
        return answer["result"]

    def answer(self, question: str, result=None) -> None:
        self.wire.send_message(id=question, result=result)

    def input(self, call: int, **params) -> bytes:
        self.ask("call.read", call=call, **params)
        told = self.next("call.input")["params"]
        self.assertEqual(told["call"], call)
        return decoded(told["data"])

    def assert_fails(self, errno: str, method: str, **params) -> None:
        with self.assertRaises(WireError) as caught:
            self.ask(method, **params)
        self.assertTrue(caught.exception.message.startswith(errno + ": "), caught.exception.message)


class Calls(Serving):
    def test_a_call_from_its_question_to_its_end(self) -> None:
        run = self.wire.send("run", {"command": "cd /tmp; printf 'a\\nb' | WORD=x serve 'one two' é | tr a-z A-Z; echo ${PIPESTATUS[1]}"})
        question, params = self.invoked()
        self.assertEqual({name: params[name] for name in ("sandboxId", "name", "arguments", "cwd")},
                         {"sandboxId": "main", "name": "serve", "arguments": ["one two", "é"], "cwd": "/tmp"})
        self.assertEqual(params["env"]["WORD"], "x")
        call = params["call"]
        self.assertEqual(self.input(call, bytes=2), b"a\n")
        self.assertEqual(self.input(call), b"b")
        self.assertEqual(self.input(call), b"")
        self.assertEqual(self.ask("call.write", call=call, data=encoded(b"out\n")), {"ok": True})
        self.assertEqual(self.next("call.taken")["params"], {"call": call, "bytes": 4})
        self.ask("call.write", call=call, data=encoded(b"err\n"), stream="stderr")
        self.answer(question, {"exitCode": 7})
        result = self.next(run)["result"]
        self.assertEqual((result["stdout"], result["stderr"]), ("OUT\n7\n", "err\n"))
        self.assert_fails("ECANCELED", "call.write", call=call, data="")
        self.assert_fails("ECANCELED", "call.read", call=call)

    def test_answers(self) -> None:
        for result, code, said in ((None, 0, ""), ({}, 0, ""), ({"exitCode": 259}, 3, ""), ({"exitCode": "x"}, 1, "serve: the host's answer"),
                                   (7, 1, "serve: the host's answer")):
            run = self.wire.send("run", {"command": "serve"})
            question, _ = self.invoked()
            self.answer(question, result)
            told = self.next(run)["result"]
            self.assertEqual(told["exitCode"], code, result)
            self.assertTrue(told["stderr"].startswith(said), told)
        run = self.wire.send("run", {"command": "serve"})
        question, _ = self.invoked()
        self.wire.send_message(id=question, error={"code": 1, "message": "KeyError: 'x'"})
        told = self.next(run)["result"]
        self.assertEqual((told["exitCode"], told["stderr"]), (1, "serve: KeyError: 'x'\n"))

    def test_help_is_the_description(self) -> None:
        self.assertEqual(self.wire.run("serve --help")["stdout"], "Serves.\n")
        run = self.wire.send("run", {"command": "other --help"})
        question, params = self.invoked()
        self.assertEqual(params["arguments"], ["--help"])
        self.answer(question)
        self.next(run)

    def test_input_is_taken_when_it_is_asked_for(self) -> None:
        run = self.wire.send("run", {"command": "while read line; do serve $line; done", "stdin": "one\ntwo\n"})
        for word in ("one", "two"):
            question, params = self.invoked()
            self.assertEqual(params["arguments"], [word])
            self.answer(question)
        self.next(run)

    def test_input_comes_as_it_was_asked_for(self) -> None:
        run = self.wire.send("run", {"command": "(printf abc; sleep 0.01; printf defg; exec sleep 1000) | serve"})
        _, params = self.invoked()
        call = params["call"]
        self.ask("call.read", call=call, bytes=2)
        self.ask("call.read", call=call, bytes=4)
        come = b""
        while len(come) < 6:
            come += decoded(self.next("call.input")["params"]["data"])
        self.assertEqual(come, b"abcdef")
        self.ask("call.read", call=call, bytes=WINDOW)
        self.assertEqual(decoded(self.next("call.input")["params"]["data"]), b"g")
        self.assert_fails("EAGAIN", "call.read", call=call, bytes=2)
        self.wire.send("cancel", {})
        self.assertEqual(self.next("call.end")["params"], {"call": call})
        self.next(run)

    def test_output_that_nobody_takes_is_bounded(self) -> None:
        run = self.wire.send("run", {"command": "serve | sleep 1000"})
        question, params = self.invoked()
        call, sent = params["call"], 0
        block = encoded(b"x" * (WINDOW // 4))
        with self.assertRaises(WireError) as caught:
            while True:
                self.ask("call.write", call=call, data=block)
                sent += WINDOW // 4
                self.assertLess(sent, 3 * WINDOW)
        self.assertTrue(caught.exception.message.startswith("EAGAIN"))
        self.assert_fails("EAGAIN", "call.write", call=call, data=encoded(b"x" * (WINDOW + 1)))
        self.wire.send("cancel", {})
        self.next("call.end")
        self.assertEqual(self.next(run)["result"]["exitCode"], 137)
        self.answer(question, {"exitCode": 0})  # nobody waits for it
        self.assertEqual(self.ask("ping")["ok"], True)

    def test_a_closed_pipe_ends_it(self) -> None:
        run = self.wire.send("run", {"command": "serve | true; echo ${PIPESTATUS[0]}"})
        _, params = self.invoked()
        ended = False
        while not ended:  # until `true` has gone
            try:
                self.ask("call.write", call=params["call"], data=encoded(b"line\n"))
            except WireError as error:
                self.assertTrue(error.message.startswith("ECANCELED"), error.message)
                ended = True
        self.assertEqual(self.next("call.end")["params"], {"call": params["call"]})
        self.assertEqual(self.next(run)["result"]["stdout"], "141\n")

    def test_a_write_that_fails(self) -> None:
        run = self.wire.send("run", {"command": "serve > /dev/full; echo $?; serve >&-; echo $?"})
        for errno in ("ENOSPC", "EBADF"):
            question, params = self.invoked()
            self.ask("call.write", call=params["call"], data=encoded(b"x"))
            self.next("call.taken")
            self.assert_fails(errno, "call.write", call=params["call"], data=encoded(b"x"))
            self.answer(question, {"exitCode": 0})
        result = self.next(run)["result"]
        self.assertEqual(result["stdout"], "1\n1\n")
        self.assertIn("serve: write error: No space left", result["stderr"])

    def test_a_read_that_fails(self) -> None:
        run = self.wire.send("run", {"command": "serve <&-"})
        question, params = self.invoked()
        self.ask("call.read", call=params["call"])
        self.assertEqual(self.next("call.input")["params"], {"call": params["call"], "data": "", "error": "EBADF"})
        self.answer(question)
        self.next(run)

    def test_time_and_signals_end_it(self) -> None:
        run = self.wire.send("run", {"command": "serve", "timeoutMs": 3000})
        _, params = self.invoked()
        self.assertEqual(self.next("call.end")["params"], {"call": params["call"]})
        self.assertEqual(self.next(run)["result"]["exitCode"], 124)
        started = self.ask("command.start", script="serve")["command"]
        _, params = self.invoked()
        self.ask("command.kill", command=started, signal=15)
        self.assertEqual(self.next("call.end")["params"], {"call": params["call"]})
        self.assertEqual(self.next("command.exit")["params"]["signal"], 15)

    def test_what_is_wrong_with_a_request(self) -> None:
        run = self.wire.send("run", {"command": "serve"})
        question, params = self.invoked()
        for method, given in (("call.write", {"call": params["call"]}), ("call.write", {"call": params["call"], "data": "%"}),
                              ("call.write", {"call": params["call"], "data": "", "stream": "x"}), ("call.read", {}), ("call.read", {"call": 10 ** 30})):
            with self.assertRaises(WireError) as caught:
                self.ask(method, **given)
            self.assertEqual(caught.exception.code, -32602, (method, given))
        self.assert_fails("ECANCELED", "call.read", call=2 ** 64 - 1)
        self.answer(question)
        self.next(run)
        for commands in (7, [7], [{}], [{"name": 7}]):
            with self.assertRaises(WireError) as caught:
                self.ask("commands.set", commands=commands)
            self.assertEqual(caught.exception.code, -32602, commands)
        self.assert_fails("EEXIST", "commands.set", commands=[{"name": "ls"}])
        self.assert_fails("EINVAL", "commands.set", commands=[{"name": "a/b"}])


class Creating(WireTest):
    creates = False

    def test_commands_that_are_refused_leave_no_sandbox(self) -> None:
        for commands, code, start in (([{"name": "ls"}], 1, "EEXIST"), ([{"name": "cd"}], 1, "EEXIST"), ([{"name": "a b"}], 1, "EINVAL"),
                                      ([{"name": "a"}] * 2, 1, "EINVAL"), ([{"name": f"c{i}"} for i in range(257)], 1, "EINVAL"),
                                      ("a", -32602, "'commands'"), ([{"description": "x"}], -32602, "'name'")):
            for method in ("create", "sandbox.create"):
                self.assert_error(code, start, method, {"commands": commands})
        self.wire.call("create")
        self.assertEqual(len(self.wire.call("sandbox.list")["sandboxes"]), 1)


class Lives(Serving):
    def test_commands_set_later(self) -> None:
        self.ask("commands.set", commands=[{"name": "later"}])
        run = self.wire.send("run", {"command": "later; serve"})
        question, params = self.invoked()
        self.assertEqual(params["name"], "later")
        self.answer(question)
        self.assertEqual(self.next(run)["result"]["exitCode"], 127)

    def test_forks_snapshots_and_states(self) -> None:
        fork = self.ask("sandbox.fork")["sandboxId"]
        snapshot = self.ask("snapshot.create")["id"]
        self.ask("snapshot.restore", id=snapshot)
        state = self.ask("persistence.export")["data"]
        self.ask("persistence.import", data=state)
        for sandbox in ("main", fork):
            run = self.wire.send("run", {"command": "serve", "sandboxId": sandbox})
            question, params = self.invoked()
            self.assertEqual(params["sandboxId"], sandbox)
            self.answer(question, {"exitCode": 5})
            self.assertEqual(self.next(run)["result"]["exitCode"], 5)
        bare = self.ask("sandbox.create")["sandboxId"]
        self.ask("persistence.import", data=state, sandboxId=bare)
        self.assertEqual(self.ask("run", command="serve", sandboxId=bare)["exitCode"], 127)

    def test_a_sandbox_that_goes_ends_its_calls(self) -> None:
        fork = self.ask("sandbox.fork")["sandboxId"]
        self.wire.send("run", {"command": "serve", "sandboxId": fork})
        question, params = self.invoked()
        self.ask("sandbox.destroy", sandboxId=fork)
        self.assertEqual(self.next("call.end")["params"], {"call": params["call"]})
        self.answer(question)
        self.assertEqual(self.ask("ping")["ok"], True)

    def test_a_client_that_goes_ends_the_server(self) -> None:
        self.wire.send("run", {"command": "for i in 1 2 3 4 5; do serve & done; yes | serve | cat"})
        for _ in range(6):
            self.invoked()
        self.assertEqual(self.wire.end(), 0)

    def test_many_at_once(self) -> None:
        self.wire.send("run", {"command": "seq 1000 | xargs -n 1 -P 30 serve; echo over"})
        run, calls = self.wire.last, 0
        while True:
            message = self.wire.read()
            if message.get("method") == "command.invoke":
                calls += 1
                self.answer(message["id"])
            elif message.get("id") == run:
                break
        self.assertEqual(calls, 1000)
        self.assertTrue(message["result"]["stdout"].endswith("over\n"))

    def test_bytes_of_any_kind_and_number_both_ways(self) -> None:
        run = self.wire.send("run", {"command": "head -c 3000000 /dev/urandom | tee a | serve > b; cmp a b && wc -c < b"})
        question, params = self.invoked()
        call, unread = params["call"], 0
        while data := self.input(call):
            while unread + len(data) > WINDOW:
                unread -= self.next("call.taken")["params"]["bytes"]
            self.ask("call.write", call=call, data=encoded(data))
            unread += len(data)
        self.answer(question)
        self.assertEqual(self.next(run)["result"]["stdout"], "3000000\n")


if __name__ == "__main__":
    unittest.main()

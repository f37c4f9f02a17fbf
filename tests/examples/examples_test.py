# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/, as a reader would run them."""
import os
import re
import socket
import subprocess
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["CLOCHE_EXAMPLES"])
SOURCES = Path(__file__).resolve().parents[2] / "examples"
MOST_SECONDS = 120


def output_of(name: str) -> str:
    done = subprocess.run([PROGRAMS / f"example_{name}"], capture_output=True, text=True,
                          timeout=MOST_SECONDS, check=False)
    if done.returncode:
        raise AssertionError(f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Examples(unittest.TestCase):
    def test_all_of_them_are_here(self) -> None:
        named = {test.removeprefix("test_") for test in dir(self) if test.startswith("test_")}
        self.assertLessEqual({source.stem for source in SOURCES.glob("*.cc")}, named)

    def test_embed(self) -> None:
        said = output_of("embed")
        self.assertIn("lines: 3\nfork has:\napple\nfig\npear\nzebra\noriginal has:\napple\nfig\npear\n", said)
        self.assertIn("exit code 124", said)

    def test_callbacks(self) -> None:
        said = output_of("callbacks")
        self.assertIn("price: 85.0\nslow: 'done'\nbroken: CallbackError: the printer is out of paper\n", said)
        self.assertIn("wrong arguments: CallbackArgumentError: ", said)
        self.assertIn("in a fork: 42.5\n", said)

    def test_tunnel(self) -> None:
        self.assertEqual(output_of("tunnel"), "HTTP/1.0 200 OK\n<h1>from the sandbox</h1>\n"
                                              "the server ended with 137\n")

    def test_server(self) -> None:
        with subprocess.Popen([PROGRAMS / "example_server", "0", "2"], stdout=subprocess.PIPE,
                              text=True) as server:
            self.addCleanup(server.kill)
            port = int(re.search(r"port (\d+)", server.stdout.readline())[1])
            clients = [socket.create_connection(("127.0.0.1", port), MOST_SECONDS) for _ in range(2)]
            for number, client in enumerate(clients):
                client.sendall(f"echo {number} > mine; echo $((6 * 7)); cat mine\n".encode())
            for number, client in enumerate(clients):
                with client, client.makefile("r") as lines:
                    self.assertEqual([lines.readline() for _ in range(2)], ["42\n", f"{number}\n"])
                    client.sendall(b"exit 3\n")
                    self.assertEqual(lines.read(), "")
            self.assertEqual(server.stdout.read(), "a client has left: exit code 3\n" * 2)
            self.assertEqual(server.wait(MOST_SECONDS), 0)


if __name__ == "__main__":
    unittest.main()

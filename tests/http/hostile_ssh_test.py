# SPDX-License-Identifier: Apache-2.0
"""What clients that have logged in by SSH try on the server's memory, and that others are served meanwhile."""
import contextlib
import socket
import threading
import unittest

import paramiko
from paramiko.common import cMSG_CHANNEL_DATA, cMSG_CHANNEL_REQUEST, cMSG_USERAUTH_REQUEST

from server import PATIENCE_S, Server, until

TOKEN = "test-token"
MOST_MB = 64


class HostileSsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", TOKEN, "--token", "other", "--received-limit", f"{MOST_MB}M", ssh=True)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.mine = self.log_in(TOKEN)
        self.others = self.log_in("other")
        self.assertEqual(self.run_in(self.mine, "echo in"), b"in\n")  # the first takes memory that stays
        self.before_mb = self.server.resident_mb()

    def tearDown(self):
        self.assertEqual(self.run_in(self.others, "echo in"), b"in\n")
        self.assertLess(self.server.resident_mb() - self.before_mb, MOST_MB + 30)

    def log_in(self, token, compress=False):
        status, made = self.server.json("POST", "/sessions", {}, token=token)
        self.assertEqual(status, 200, made)
        self.addCleanup(lambda: self.server.ask("DELETE", f"/sessions/{made['sessionId']}", token=token))
        transport = paramiko.Transport(socket.create_connection(("127.0.0.1", self.server.ssh_port), PATIENCE_S))
        self.addCleanup(transport.close)
        transport.use_compression(compress)
        transport.start_client(timeout=PATIENCE_S)
        transport.auth_password("sandbox+" + made["sessionId"], token)
        return transport

    def run_in(self, transport, command):
        channel = transport.open_session()
        channel.exec_command(command)
        return channel.makefile().read()

    def say(self, channel, kind, *parts):
        """As it is, whatever window the channel has."""
        message = paramiko.Message()
        message.add_byte(kind)
        message.add_int(channel.remote_chanid)
        for part in parts:
            message.add_boolean(part) if isinstance(part, bool) else message.add_string(part)
        channel.get_transport()._send_user_message(message)

    @contextlib.contextmanager
    def at_once(self):
        """What is said meanwhile goes out as one piece."""
        packetizer, pieces = self.mine.packetizer, []
        packetizer.write_all = pieces.append
        try:
            yield pieces
        finally:
            del packetizer.write_all
        packetizer.write_all(b"".join(pieces))

    def fill(self, channels, piece, times):
        """Until the connection ends, which is this client's own then."""
        try:
            for channel in channels:
                for _ in range(times):
                    self.say(channel, cMSG_CHANNEL_DATA, piece)
        except (EOFError, OSError, paramiko.SSHException):
            pass
        until(lambda: not self.mine.is_active(), "the connection has ended")

    def test_who_has_logged_in_does_not_log_in_elsewhere(self):
        status, made = self.server.json("POST", "/sessions", {}, token="other")
        self.assertEqual(status, 200, made)
        message = paramiko.Message()
        message.add_byte(cMSG_USERAUTH_REQUEST)
        for part in ("sandbox+" + made["sessionId"], "ssh-connection", "password"):
            message.add_string(part)
        message.add_boolean(False)
        message.add_string("wrong")
        self.mine._send_user_message(message)
        until(lambda: not self.mine.is_active(), "the connection has ended")

    def test_an_environment_is_as_large_as_a_command_takes(self):
        channels = [self.mine.open_session() for _ in range(16)]
        for channel in channels:
            for number in range(120):
                self.say(channel, cMSG_CHANNEL_REQUEST, "env", False, f"V{number}", b"x" * (50_000 if number else 20))
        for channel in channels:
            channel.exec_command("echo $V0 ${#V1} ${#V2} ${#V3}; env | wc -c")
            said = channel.makefile().read().split()
            self.assertEqual(said[:3], [b"x" * 20, b"50000", b"50000"])
            self.assertEqual(said[3], b"0")
            self.assertLess(int(said[4]), 130_000)

    def test_nothing_comes_packed(self):
        self.assertEqual(self.log_in(TOKEN, compress=True).remote_compression, "none")

    def test_a_channel_that_is_closed_leaves_its_place(self):
        channels, opened = [self.mine.open_session() for _ in range(32)], []
        with self.assertRaises(paramiko.ChannelException):
            self.mine.open_session()
        with self.at_once() as pieces:
            for channel in channels:
                channel.close()
            count = len(pieces)
            opening = threading.Thread(target=lambda: opened.append(self.mine.open_session()))
            opening.start()
            until(lambda: len(pieces) > count, "a channel is asked for")
        opening.join(PATIENCE_S)
        self.assertEqual(len(opened), 1)

    def test_who_closes_a_channel_is_answered_before_its_command_ends(self):
        self.run_in(self.mine, "mkfifo gate")
        channel = self.mine.open_session()
        channel.exec_command("echo up; read -r line < gate; echo $line > got")
        self.assertEqual(channel.recv(10), b"up\n")
        channel.close()
        until(lambda: self.mine._channels.get(channel.chanid) is None, "the channel is closed by the server")
        self.assertEqual(self.run_in(self.mine, "timeout 5 bash -c 'echo in > gate'; until [ -s got ] || ((++n > 500)); do sleep 0.01; done; cat got"), b"in\n")

    def test_a_terminal_has_a_name_of_some_length(self):
        channel = self.mine.open_session()
        with self.assertRaises(paramiko.SSHException):
            channel.get_pty("x" * 100_000)

    def test_what_no_program_reads(self):
        self.fill([self.mine.open_session() for _ in range(30)], b"x" * (64 << 10), 62)

    def test_what_no_program_reads_at_a_port(self):
        listener = self.mine.open_session()
        listener.exec_command("""python3 -c 'import socket, time
listener = socket.create_server(("127.0.0.1", 8000), backlog=100)
print("listening", flush=True)
time.sleep(1000)'""")
        self.assertEqual(listener.recv(20), b"listening\n")
        self.fill([self.mine.open_channel("direct-tcpip", ("localhost", 8000), ("localhost", 1)) for _ in range(100)], b"x" * (64 << 10), 62)

    def test_answers_of_files_that_nobody_reads(self):
        self.run_in(self.mine, "truncate -s 100M large")
        number = lambda value, size=4: value.to_bytes(size, "big")
        string = lambda text: number(len(text)) + text
        channels = []
        for _ in range(30):
            channel = self.mine.open_session(window_size=1000)
            channel.invoke_subsystem("sftp")
            for request in (b"\x01" + number(3), b"\x03" + number(1) + string(b"large") + number(1) + number(0)):
                channel.sendall(string(request))
                channel.recv(500)
            channels.append(channel)
        read = string(b"\x05" + number(2) + string(b"1") + number(0, 8) + number(128 << 10))
        self.fill(channels, read * 900, 40)


if __name__ == "__main__":
    unittest.main()

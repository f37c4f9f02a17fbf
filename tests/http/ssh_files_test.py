# SPDX-License-Identifier: Apache-2.0
"""Files of a session by SSH: what SFTP has beyond its version 3, as OpenSSH's server has it, with OpenSSH's client and paramiko."""
import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import paramiko
from paramiko.message import Message

from server import PATIENCE_S, Server, new_ssh_key

EXTENDED, EXTENDED_REPLY, STATUS, NAME = 200, 201, 101, 104
OK, END, DENIED, FAILURE, UNSUPPORTED = 0, 1, 3, 4, 8
SIZE, OWNER, PERMISSIONS, TIMES = 1, 2, 4, 8


def string(text):
    text = text.encode() if isinstance(text, str) else text
    return len(text).to_bytes(4, "big") + text


def number(value, size=4):
    return value.to_bytes(size, "big")


class SshFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", ssh=True)
        cls.addClassCleanup(cls.server.stop)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.here = Path(cls.folder.name)
        cls.key = str(cls.here / "key")
        cls.public_key = new_ssh_key(cls.key)

    def setUp(self):
        self.make_session()

    def make_session(self, **sandbox):
        status, made = self.server.json("POST", "/sessions", {"sshPublicKey": self.public_key, "sandbox": sandbox})
        self.assertEqual(status, 200, made)
        self.session = made["sessionId"]
        self.addCleanup(lambda: self.server.ask("DELETE", f"/sessions/{self.session}"))

    def options(self, port="-p"):
        return [port, str(self.server.ssh_port), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-F", "none", "-i", self.key]

    @property
    def host(self):
        return f"sandbox+{self.session}@127.0.0.1"

    def ssh(self, command, status=0):
        done = subprocess.run(["ssh", *self.options(), self.host, command], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def sftp(self):
        transport = paramiko.Transport(socket.create_connection(("127.0.0.1", self.server.ssh_port), PATIENCE_S))
        self.addCleanup(transport.close)
        transport.start_client(timeout=PATIENCE_S)
        transport.auth_publickey(f"sandbox+{self.session}", paramiko.Ed25519Key.from_private_key_file(self.key))
        channel = transport.open_session()
        channel.invoke_subsystem("sftp")
        return paramiko.SFTPClient(channel)

    def ask(self, sftp, name, *parts):
        """Of an extended request the kind of the answer, and the answer."""
        with sftp._lock:
            sftp.request_number += 1
            request = sftp.request_number
        sftp._send_packet(EXTENDED, number(request) + string(name) + b"".join(parts))
        kind, data = sftp._read_packet()
        answer = Message(data)
        self.assertEqual(answer.get_int(), request)
        return kind, answer

    def status(self, sftp, name, *parts):
        kind, answer = self.ask(sftp, name, *parts)
        self.assertEqual(kind, STATUS)
        return answer.get_int()

    def batch(self, *lines):
        file = self.here / "batch"
        file.write_text("".join(f"-{line}\n" for line in lines))
        done = subprocess.run(["sftp", *self.options("-P"), "-b", str(file), self.host], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def test_links_and_copies_by_the_client_of_openssh(self):
        (self.here / "some").write_bytes(os.urandom(3_000_000))
        said, errors = self.batch(f"put {self.here}/some f", "ln f hard", "ln -s f soft", "cp f copied", "chmod 600 f", "chmod -h 640 copied")
        self.assertEqual(errors, "")
        self.assertEqual(self.ssh("cmp f copied && stat -c '%h %a' f hard copied && readlink soft"), "2 600\n2 600\n1 640\nf\n")
        said, errors = self.batch("chmod -h 600 soft", "ln f copied", "ln none new", "cp none new", "ls -l")
        self.assertEqual(len(errors.splitlines()), 4, errors)
        self.assertIn("Operation unsupported", errors)  # as of Linux: a link has no permissions of its own
        self.assertNotIn("new", said.split("ls -l")[1])

    def test_whose_a_file_is(self):
        sftp = self.sftp()
        sftp.open("f", "w").close()
        self.assertEqual((sftp.stat("f").st_uid, sftp.stat("f").st_gid), (1000, 1000))
        self.assertEqual((sftp.stat("/etc/passwd").st_uid, sftp.stat("/etc/passwd").st_gid), (0, 0))
        self.assertIn("root     root", [entry.longname for entry in sftp.listdir_iter("/etc") if entry.filename == "passwd"][0])
        sftp.chown("f", 1000, 1000)
        for change in (lambda: sftp.chown("f", 5, 1000), lambda: sftp.chown("f", 1000, 0), lambda: sftp.chown("/etc/passwd", 1000, 1000),
                       lambda: sftp.open("f").chown(0, 0)):
            with self.assertRaises(PermissionError):
                change()
        self.assertEqual(self.ssh("stat -c '%u %g' f"), "1000 1000\n")

    def test_times(self):
        sftp = self.sftp()
        sftp.open("f", "w").close()
        sftp.utime("f", (1_000_000_000, 1_100_000_000))
        self.assertEqual((sftp.stat("f").st_atime, sftp.stat("f").st_mtime), (1_000_000_000, 1_100_000_000))
        self.assertEqual(sftp.open("f").stat().st_atime, 1_000_000_000)
        sftp.symlink("f", "l")
        times = number(TIMES) + number(900_000_000) + number(950_000_000)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("l"), times), OK)
        self.assertEqual((sftp.lstat("l").st_atime, sftp.lstat("l").st_mtime), (900_000_000, 950_000_000))
        self.assertEqual(sftp.stat("l").st_atime, 1_000_000_000)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("f"), times), OK)
        self.assertEqual(sftp.stat("f").st_mtime, 950_000_000)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("l"), number(PERMISSIONS) + number(0o600)), UNSUPPORTED)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("l"), number(OWNER) + number(0) + number(0)), DENIED)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("l"), number(OWNER) + number(1000) + number(1000)), OK)
        self.assertNotEqual(self.status(sftp, "lsetstat@openssh.com", string("l"), number(SIZE) + number(0, 8)), OK)
        self.assertEqual(self.status(sftp, "lsetstat@openssh.com", string("none"), times), 2)

    def test_copies_within_the_sandbox(self):
        sftp = self.sftp()
        reader = self.sftp()  # whose requests are not between
        content = os.urandom(1_300_000)
        with sftp.open("from", "wb") as file:
            file.write(content)
        self.ssh("truncate -s 100M large")
        opened = {name: sftp.open(name, mode) for name, mode in [("from", "rb"), ("to", "wb"), ("end", "ab"), ("large", "rb"), ("most", "wb")]}
        handle = {name: string(file.handle) for name, file in opened.items()}

        def copy(source, at, size, target, to):
            return self.status(sftp, "copy-data", source, number(at, 8), number(size, 8), target, number(to, 8))

        self.assertEqual(copy(handle["from"], 0, 0, handle["to"], 5), OK)
        self.assertEqual(copy(handle["from"], 10, 20, handle["to"], 0), OK)
        self.assertEqual(reader.open("to", "rb").read(), content[10:30] + content[15:])
        for _ in range(2):  # at the end, whatever place is named
            self.assertEqual(copy(handle["from"], 100, 7, handle["end"], 3), OK)
        self.assertEqual(reader.open("end", "rb").read(), content[100:107] * 2)
        # As much as there is, and that it was not all.
        self.assertEqual(copy(handle["from"], len(content) - 3, 100, handle["to"], 0), END)
        self.assertEqual(reader.open("to", "rb").read(3), content[-3:])
        self.assertEqual(copy(handle["from"], 0, 0, handle["from"], 0), FAILURE)
        self.assertEqual(copy(handle["from"], 0, 0, string("999"), 0), FAILURE)
        self.assertNotEqual(copy(handle["to"], 0, 0, handle["from"], 0), OK)  # one is not read, the other not written
        # A file is copied to another place of itself, but not over what is still to be read: that had no end.
        self.ssh("ln to hard")
        size = reader.stat("to").st_size
        with sftp.open("hard", "rb") as source, sftp.open("to", "r+b") as target, sftp.open("to", "ab") as end:
            for at, length, file, to in [(0, 0, target, 1), (5, 0, target, 0), (0, 10, target, 9), (9, 10, target, 0), (0, 5, end, 0)]:
                self.assertEqual(copy(string(source.handle), at, length, string(file.handle), to), FAILURE)
            self.assertEqual(copy(string(source.handle), 0, 10, string(target.handle), 10), OK)
        self.assertEqual(reader.open("to", "rb").read(20), (content[-3:] + content[13:20]) * 2)
        self.assertEqual(reader.stat("to").st_size, size)
        # A long one leaves the connection to others, and stops where there is no room.
        other = sftp.get_channel().get_transport().open_session()
        self.assertEqual(copy(handle["large"], 0, 0, handle["most"], 0), OK)
        other.exec_command("stat -c %s most; df --output=avail -B1 . | tail -1")
        self.assertEqual(other.makefile().readline(), "104857600\n")
        self.assertEqual(copy(handle["large"], 0, 0, handle["most"], 100 << 20), OK)
        self.assertEqual(copy(handle["large"], 0, 0, handle["most"], 200 << 20), FAILURE)
        self.assertEqual(sftp.stat("from").st_size, len(content))

    def test_a_copy_that_nobody_waits_for_ends(self):
        sftp = self.sftp()
        self.ssh("truncate -s 60M from")
        source, target = sftp.open("from", "rb"), sftp.open("to", "wb")
        sftp._send_packet(EXTENDED, number(1000) + string("copy-data") + string(source.handle) + number(0, 8) * 2 +
                          string(target.handle) + number(0, 8))
        sftp.get_channel().get_transport().close()
        self.assertEqual(self.ssh("for i in $(seq 400); do [ $(stat -c %s to) = 62914560 ] && break; sleep 0.05; done; stat -c %s to"), "62914560\n")

    def test_where_one_is_at_home(self):
        sftp = self.sftp()

        def named(name, text):
            kind, answer = self.ask(sftp, name, string(text))
            if kind == STATUS:
                return answer.get_int()
            self.assertEqual((kind, answer.get_int()), (NAME, 1))
            return answer.get_text()

        for asked, said in [("~", "/workspace"), ("~/a/../b", "/workspace/b"), ("~sandbox/c", "/workspace/c"), ("d", "/workspace/d"),
                            ("/e", "/e"), ("~nobody", FAILURE), ("~nobody/x", FAILURE)]:
            self.assertEqual(named("expand-path@openssh.com", asked), said, asked)
        for asked, said in [("", "/workspace"), ("sandbox", "/workspace"), ("nobody", FAILURE)]:
            self.assertEqual(named("home-directory", asked), said, asked)
        # As to a shell there.
        self.make_session(env={"HOME": "/tmp/home", "USER": "somebody"})
        sftp = self.sftp()
        self.assertEqual(self.ssh("echo ~ ~/a; pwd"), "/tmp/home /tmp/home/a\n/workspace\n")
        for asked, said in [("~", "/tmp/home"), ("~/a", "/tmp/home/a"), ("~somebody/b", "/tmp/home/b"), ("b", "/workspace/b"), ("~sandbox", FAILURE)]:
            self.assertEqual(named("expand-path@openssh.com", asked), said, asked)
        self.assertEqual(named("home-directory", ""), "/tmp/home")

    def test_room_is_told_of_what_is_there(self):
        sftp = self.sftp()
        kind, answer = self.ask(sftp, "statvfs@openssh.com", string("/workspace"))
        self.assertEqual((kind, answer.get_int64(), answer.get_int64(), answer.get_int64()), (EXTENDED_REPLY, 4096, 4096, (256 << 20) // 4096))
        self.assertEqual(self.status(sftp, "statvfs@openssh.com", string("/none")), 2)
        self.assertEqual(self.status(sftp, "fstatvfs@openssh.com", string("77")), FAILURE)
        self.assertEqual(self.status(sftp, "made-up@example.org", string("x")), UNSUPPORTED)


if __name__ == "__main__":
    unittest.main()

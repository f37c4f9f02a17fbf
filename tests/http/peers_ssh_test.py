# SPDX-License-Identifier: Apache-2.0
"""SSH by the plain port of any cell to sessions of any other one, with OpenSSH's clients and paramiko."""
import contextlib
import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import paramiko

from peers_test import SECRET, TOKENS, Cells
from server import PATIENCE_S, new_ssh_key, until

PASSWORD = "a-password-of-the-operator"


class PeersSsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.state = tempfile.TemporaryDirectory()
        cls.cells = Cells("--ssh-password", PASSWORD, "--state-dir", cls.state.name, "--take-keys", ssh=True)
        cls.addClassCleanup(cls.state.cleanup)
        cls.addClassCleanup(cls.cells.__exit__)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.keys = {}
        for kind in ("ed25519", "ecdsa", "rsa"):
            key = f"{cls.folder.name}/{kind}"
            cls.keys[kind] = (key, new_ssh_key(key, kind))

    def session_of(self, cell, kind="ed25519"):
        return self.cells.create(cell, sshPublicKey=self.keys[kind][1])

    def options(self, cell, kind="ed25519", port="-p"):
        return [port, str(self.cells[cell].ssh_port), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-F", "none", "-i", self.keys[kind][0]]

    def run_client(self, *words, data=None, status=0):
        done = subprocess.run([str(word) for word in words], capture_output=True, timeout=PATIENCE_S, check=False,
                              **({"stdin": subprocess.DEVNULL} if data is None else {"input": data}))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def ssh(self, cell, session, command, *more, kind="ed25519", data=None, status=0):
        return self.run_client("ssh", *self.options(cell, kind), *more, f"sandbox+{session}@127.0.0.1", command, data=data,
                               status=status)

    def transport(self, cell, session, password=TOKENS[0], user="sandbox+"):
        transport = paramiko.Transport(socket.create_connection(("127.0.0.1", self.cells[cell].ssh_port), PATIENCE_S))
        self.addCleanup(transport.close)
        transport.start_client(timeout=PATIENCE_S)
        transport.auth_password(user + session, password)
        return transport

    # --- What is run -----------------------------------------------------------------------------

    def test_commands(self):
        session = self.session_of(1)
        for cell in (2, 3, 1):
            done = self.ssh(cell, session, "echo out; echo err >&2; pwd; exit 7", status=7)
            self.assertEqual((done.stdout, done.stderr), (b"out\n/workspace\n", b"err\n"))
        self.ssh(2, session, "echo kept > f")
        self.assertEqual(self.ssh(3, session, "cat f").stdout, b"kept\n")
        binary = bytes(range(256)) * 4096
        self.assertEqual(self.ssh(2, session, "cat", data=binary).stdout, binary)
        self.assertEqual(len(self.ssh(2, session, "head -c 5000000 /dev/zero").stdout), 5_000_000)
        done = self.ssh(2, session, "head -c 3000000 /dev/zero >&2; wc -c", data=b"x" * 3_000_000)
        self.assertEqual((done.stdout.strip(), len(done.stderr)), (b"3000000", 3_000_000))
        # More than any window, to one that reads a little at a time.
        done = self.ssh(2, session, "head -c 1 | wc -c; cat | wc -c", data=b"x" * 40_000_000)
        self.assertEqual(done.stdout.split()[0], b"1")
        self.assertGreater(int(done.stdout.split()[1]), 38_000_000)
        self.assertEqual(self.ssh(2, session, "echo $MADE_UP", "-o", "SetEnv=MADE_UP=here").stdout, b"here\n")

    def test_how_a_command_has_ended(self):
        session = self.session_of(1)
        channel = self.transport(2, session).open_session()
        channel.exec_command("kill -9 $$")
        self.assertEqual(channel.recv_exit_status(), -1)  # no status: a signal
        self.ssh(2, session, "kill -9 $$", status=255)
        channel = self.transport(2, session).open_session()
        channel.exec_command("")
        self.assertEqual(channel.recv_exit_status(), 0)  # no shell, which would wait for its input
        # A client's signal arrives, as does its going away.
        channel = self.transport(2, session).open_session()
        channel.exec_command("trap 'echo caught; exit 3' TERM; echo begun; while :; do sleep 0.1; done")
        out = channel.makefile()
        self.assertEqual(out.readline(), "begun\n")
        message = paramiko.Message()
        message.add_byte(bytes([98]))  # SSH_MSG_CHANNEL_REQUEST
        message.add_int(channel.remote_chanid)
        message.add_string("signal")
        message.add_boolean(False)
        message.add_string("TERM")
        channel.transport._send_user_message(message)
        self.assertEqual((out.readline(), channel.recv_exit_status()), ("caught\n", 3))
        client = subprocess.Popen(["ssh", *self.options(3), f"sandbox+{session}@127.0.0.1",
                                   "echo $$ > pid; echo begun; exec sleep 1000"], stdout=subprocess.PIPE)
        self.assertEqual(client.stdout.readline(), b"begun\n")
        client.kill()
        client.wait()
        client.stdout.close()
        until(lambda: self.ssh(2, session, "kill -0 $(cat pid)", status=None).returncode != 0, "the command is ended")

    def test_what_was_said_first_comes_first(self):
        """Of output and errors: a client such as rsync ends by what is said on one of them."""
        session = self.session_of(1)
        for cell in (1, 2):
            channel = self.transport(cell, session).open_session()
            channel.set_combine_stderr(True)
            channel.exec_command("for i in $(seq 300); do echo o$i; echo e$i >&2; done")
            self.assertEqual(channel.makefile().read().decode().split(), [word for i in range(1, 301) for word in (f"o{i}", f"e{i}")])
            self.assertEqual(channel.recv_exit_status(), 0)

    def test_a_terminal_and_its_size(self):
        session = self.session_of(1)
        done = self.ssh(2, session, "tty; echo $TERM", "-tt")
        self.assertIn(b"/dev/pts/", done.stdout)
        channel = self.transport(2, session).open_session()
        channel.get_pty("vt220", width=91, height=16)
        channel.resize_pty(width=91, height=17)
        channel.invoke_shell()
        said = b""

        def until_said(text):
            nonlocal said
            while text not in said:
                piece = channel.recv(65536)
                self.assertTrue(piece, said)
                said += piece

        channel.sendall(b"stty size; echo $TERM\n")
        until_said(b"17 91")
        until_said(b"vt220")
        channel.resize_pty(width=132, height=43)
        channel.sendall(b"stty size\n")
        until_said(b"43 132")
        channel.sendall(b"sleep 1000\n")
        channel.sendall(b"\x03echo on; exit 5\n")
        self.assertEqual(channel.recv_exit_status(), 5)

    def test_many_channels_at_once(self):
        session = self.session_of(1)
        transport = self.transport(2, session)
        channels = [transport.open_session() for _ in range(20)]
        for number, channel in enumerate(channels):
            channel.exec_command(f"cat; echo {number} >&2; exit {number}")
        for channel in channels:
            channel.sendall(b"x" * 100_000)
            channel.shutdown_write()
        for number, channel in enumerate(channels):
            self.assertEqual(channel.makefile().read(), b"x" * 100_000)
            self.assertEqual(channel.makefile_stderr().read(), b"%d\n" % number)
            self.assertEqual(channel.recv_exit_status(), number)

    def test_what_a_client_does_not_read_waits_in_the_sandbox(self):
        session = self.session_of(1)
        transport = self.transport(2, session)
        channel = transport.open_session(window_size=1 << 20)
        before = [self.cells[cell].resident_mb() for cell in (1, 2)]
        channel.exec_command("head -c 200M /dev/zero; touch said")
        # Nothing opens the window: paramiko does that where it is read.
        other = transport.open_session()
        other.exec_command("sleep 1; ls said")
        self.assertNotEqual(other.recv_exit_status(), 0)
        after = [self.cells[cell].resident_mb() for cell in (1, 2)]
        self.assertLess(max(after[i] - before[i] for i in (0, 1)), 60, (before, after))

    # --- Files and connections -------------------------------------------------------------------

    def test_scp_and_sftp(self):
        session = self.session_of(1)
        here = Path(self.folder.name, "files")
        (here / "d" / "e").mkdir(parents=True)
        (here / "d" / "one file").write_bytes(os.urandom(300_000))
        (here / "d" / "e" / "empty").write_bytes(b"")
        for flag, name in [("-O", "old"), ("-s", "new")]:
            options = [flag, *self.options(2, port="-P")]
            self.run_client("scp", "-r", "-p", *options, here / "d", f"sandbox+{session}@127.0.0.1:/workspace/{name}")
            self.run_client("scp", "-r", *options, f"sandbox+{session}@127.0.0.1:{name}", here / name)
            self.run_client("diff", "-r", here / "d", here / name)
        # OpenSSH's client says a link's target first, and who answers knows that it is OpenSSH's.
        batch = Path(self.folder.name, "batch")
        batch.write_text("put '%s' f\nln -s f l\nls -l\nget l %s\n" % (here / "d" / "one file", here / "back"))
        done = self.run_client("sftp", *self.options(2, port="-P"), "-b", batch, f"sandbox+{session}@127.0.0.1")
        self.assertIn(b" l", done.stdout)
        self.assertEqual((here / "back").read_bytes(), (here / "d" / "one file").read_bytes())
        self.assertEqual(self.ssh(3, session, "readlink l").stdout, b"f\n")
        batch.write_text("get nonesuch\n")
        done = self.run_client("sftp", *self.options(2, port="-P"), "-b", batch, f"sandbox+{session}@127.0.0.1", status=None)
        self.assertIn(b"not found", done.stderr)

    def test_what_is_new_has_the_umask(self):
        session = self.session_of(1)
        folder = Path(self.folder.name, "open")
        folder.mkdir()
        (folder / "f").write_text("f")
        folder.chmod(0o777)
        (folder / "f").chmod(0o666)
        for name, flag, more, modes in [("a", "-O", [], b"755\n644\n"), ("b", "-s", [], b"777\n644\n"),
                                        ("c", "-O", ["-p"], b"777\n666\n"), ("d", "-s", ["-p"], b"777\n666\n")]:
            self.run_client("scp", flag, "-r", *more, *self.options(2, port="-P"), folder,
                            f"sandbox+{session}@127.0.0.1:{name}")
            self.assertEqual(self.ssh(2, session, f"stat -c %a {name} {name}/f").stdout, modes, name)
        batch = Path(self.folder.name, "batch")
        batch.write_text("mkdir new\nln -s new l\ncd l\npwd\ncd ../a\npwd\n")
        said = self.run_client("sftp", *self.options(2, port="-P"), "-b", batch, f"sandbox+{session}@127.0.0.1").stdout
        self.assertEqual(self.ssh(2, session, "stat -c %a new").stdout, b"755\n")
        # Where a link leads to is where one is.
        self.assertEqual([line.split()[-1] for line in said.splitlines() if line.startswith(b"Remote")],
                         [b"/workspace/new", b"/workspace/a"])

    def test_ports_are_forwarded(self):
        session = self.session_of(1)
        program = subprocess.Popen(["ssh", *self.options(3), f"sandbox+{session}@127.0.0.1", "python3", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdin.write(b"""
import socket
listener = socket.create_server(("127.0.0.1", 8124))
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    got = b""
    while piece := peer.recv(65536):
        got += piece
    peer.sendall(got[::-1])
    peer.close()
""")
        program.stdin.close()
        self.assertEqual(program.stdout.readline(), b"listening\n")
        forward = lambda place, data, status: self.run_client("ssh", "-W", place, *self.options(2),
                                                              f"sandbox+{session}@127.0.0.1", data=data, status=status)
        for data in [b"", b"ab" * 3, os.urandom(1_000_000)]:
            self.assertEqual(forward("localhost:8124", data, 0).stdout, data[::-1])
        self.assertNotEqual(forward("localhost:8125", b"x", None).returncode, 0)
        self.assertNotEqual(forward("192.0.2.1:80", b"x", None).returncode, 0)
        program.kill()
        program.wait()
        program.stdout.close()

    def test_what_is_sent_to_a_port_before_the_end_arrives(self):
        session = self.session_of(1)
        program = subprocess.Popen(["ssh", *self.options(1), f"sandbox+{session}@127.0.0.1", "python3", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdin.write(b"""
import socket, time
listener = socket.create_server(("127.0.0.1", 8127))
print("listening", flush=True)
for says in (0, 0, 8_000_000, 8_000_000):
    peer, _ = listener.accept()
    peer.sendall(bytes(says))
    peer.shutdown(socket.SHUT_WR)
    count = 0
    while piece := peer.recv(65536):
        count += len(piece)
        time.sleep(0.01)
    print(count, flush=True)
""")
        program.stdin.close()
        self.assertEqual(program.stdout.readline(), b"listening\n")
        for cell in (1, 2):
            channel = self.transport(cell, session).open_channel("direct-tcpip", ("localhost", 8127), ("127.0.0.1", 0))
            self.assertEqual(channel.recv(1), b"")  # the program says nothing any more, and reads slowly
            channel.sendall(b"x" * 5_000_000)
            channel.close()
            self.assertEqual(program.stdout.readline(), b"5000000\n")
        for cell in (1, 2):
            # It says more than any window holds before it reads, to one that has gone.
            transport = self.transport(cell, session)
            channel = transport.open_channel("direct-tcpip", ("localhost", 8127), ("127.0.0.1", 0))
            channel.sendall(b"x" * 300_000)
            channel.close()
            self.assertEqual(program.stdout.readline(), b"300000\n")
        program.kill()
        program.wait()
        program.stdout.close()

    # --- Who may ---------------------------------------------------------------------------------

    def test_who_may_log_in(self):
        for kind in self.keys:
            session = self.session_of(1, kind)
            self.assertEqual(self.ssh(2, session, "echo in", kind=kind).stdout, b"in\n")
            for other in set(self.keys) - {kind}:
                self.ssh(2, session, "true", kind=other, status=255)
        self.ssh(2, self.cells.create(1), "true", status=255)  # one without a key
        for password in (TOKENS[0], PASSWORD):
            channel = self.transport(2, session, password).open_session()
            channel.exec_command("echo in")
            self.assertEqual(channel.makefile().read(), b"in\n")
        nobody = "01234567-89ab-4cde-8f01-234567890001"
        for named, password, user in [(session, TOKENS[1], "sandbox+"), (session, "wrong", "sandbox+"), (session, "", "sandbox+"),
                                      (session, TOKENS[0], "root+"), (session, TOKENS[0], ""), (nobody, TOKENS[0], "sandbox+"),
                                      (nobody[:-1] + "9", TOKENS[0], "sandbox+"), (session + "/x", TOKENS[0], "sandbox+"),
                                      (session + "?x", TOKENS[0], "sandbox+"), (session + "\r\nA: b", TOKENS[0], "sandbox+")]:
            with self.assertRaises(paramiko.AuthenticationException, msg=(named, password, user)):
                self.transport(2, named, password, user)

    def test_logins_of_one_owner_to_sessions_of_others_leave_room_in_a_cell(self):
        with Cells("--max-connections", "32", ssh=True) as cells:
            mine = [cells.create(cell) for cell in (2, 3)]
            others = cells.create(2, token=TOKENS[1])

            def log_in(session, token):
                transport = paramiko.Transport(socket.create_connection(("127.0.0.1", cells[1].ssh_port), PATIENCE_S))
                self.addCleanup(transport.close)
                transport.start_client(timeout=PATIENCE_S)
                # Of one beyond the share the end may come before that it has logged in.
                with contextlib.suppress(paramiko.SSHException, EOFError):
                    transport.auth_password("sandbox+" + session, token)
                return transport

            held = [log_in(mine[number % 2], TOKENS[0]) for number in range(32)]
            until(lambda: sum(each.is_active() for each in held) == 24, "those beyond the share have gone")
            channel = log_in(others, TOKENS[1]).open_session()
            channel.exec_command("echo in")
            self.assertEqual(channel.makefile().read(), b"in\n")

    def test_only_a_cell_is_believed_that_somebody_has_logged_in(self):
        session = self.session_of(1)
        login = {"X-Cloche-Login": "password " + "ISEh", "X-Cloche-Ssh-Client": "SSH-2.0-x"}
        for headers in [login, {**login, "X-Cloche-Hop": "forged"}]:
            for cell in (1, 2):
                status = self.cells[cell].ask("GET", f"/cell/ssh/{session}", headers=headers)[0]
                self.assertIn(status, (401, 404))
                self.assertIn(self.cells[cell].ask("GET", f"/sessions/{session}", headers=headers)[0], (401, 421))
        headers = {**login, "X-Cloche-Hop": SECRET}
        self.assertEqual(self.cells[1].ask("GET", f"/cell/ssh/{session}", headers=headers)[0], 401)
        self.assertEqual(self.cells[2].ask("GET", f"/cell/ssh/{session}", headers=headers)[0], 421)
        self.assertEqual(self.cells[1].ask("POST", f"/cell/ssh/{session}", headers=headers)[0], 405)
        self.assertEqual(self.cells[1].ask("GET", f"/cell/ssh/{session}", headers={"X-Cloche-Hop": SECRET})[0], 400)
        # A tunnel that a client opens wants a login as ever, whatever the client says beside it.
        with socket.create_connection(("127.0.0.1", self.cells[2].port)) as sock:
            sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Cloche-Login: password ISEh\r\n"
                         f"Proxy-Authorization: Bearer {TOKENS[0]}\r\n\r\n".encode())
            self.assertTrue(sock.recv(65536).startswith(b"HTTP/1.1 200 "))
            transport = paramiko.Transport(sock)
            transport.start_client(timeout=PATIENCE_S)
            with self.assertRaises(paramiko.BadAuthenticationType):
                transport.auth_none("sandbox")
            transport.close()

    # --- What happens to it ----------------------------------------------------------------------

    def test_what_a_client_does_not_wait_for_comes_to_its_end(self):
        session = self.session_of(1)
        sent = b"x" * 30000
        said_by = lambda command: self.ssh(1, session, command, status=None).stdout.strip()
        for cell in (1, 2):
            for how in ("closed", "closed_and_gone", "gone"):
                name = f"{how}_{cell}"
                transport = self.transport(cell, session)
                channel = transport.open_session()
                channel.exec_command(f"cat > part; echo said; sleep 0.5; mv part {name}")
                channel.sendall(sent)
                if how == "gone":
                    channel.shutdown_write()
                else:
                    channel.close()
                if how != "closed":
                    transport.close()
                until(lambda: said_by(f"wc -c < {name}") == str(len(sent)).encode(), name)
        # But not for ever, nor on a terminal.
        transport = self.transport(1, session)
        for has_terminal in (False, True):
            channel = transport.open_session()
            if has_terminal:
                channel.get_pty()
            channel.exec_command("echo begun; exec sleep 1000")
            self.assertEqual(channel.recv(5), b"begun")
            channel.close()
        until(lambda: b"sleep 1000" not in said_by("ps -ef | grep -v grep"), "they are ended")
        self.assertTrue(transport.is_active())

    def test_a_port_that_always_says_something_keeps_no_connection_whose_client_has_gone(self):
        session = self.session_of(1)
        program = subprocess.Popen(["ssh", *self.options(1), f"sandbox+{session}@127.0.0.1", "python3", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdin.write(b"""
import socket, threading
listener = socket.create_server(("127.0.0.1", 8129))
def talk(peer):  # and never reads
    try:
        while True:
            peer.sendall(b"x" * 1000)
    except OSError:
        print("told", flush=True)
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    threading.Thread(target=talk, args=(peer,), daemon=True).start()
""")
        program.stdin.close()
        self.assertEqual(program.stdout.readline(), b"listening\n")
        closed = lambda: [self.cells[cell].log().count(f"ssh_closed session_id={session}") for cell in (1, 2)]
        before = closed()
        for cell in (1, 2):
            transport = self.transport(cell, session)
            channel = transport.open_channel("direct-tcpip", ("localhost", 8129), ("127.0.0.1", 0))
            self.assertEqual(channel.recv(1), b"x")
            channel.settimeout(0.5)
            with self.assertRaises(socket.timeout):  # what has been sent, and cannot be passed on
                while True:
                    channel.send(b"y" * 30000)
            transport.close()
        # Of the second connection the cells are two ends.
        until(lambda: closed()[0] >= before[0] + 2 and closed()[1] >= before[1] + 1, "the connections are closed")
        for _ in (1, 2):
            self.assertEqual(program.stdout.readline(), b"told\n")
        program.kill()
        program.wait()
        program.stdout.close()

    def test_ports_do_not_take_the_room_of_commands(self):
        session = self.session_of(1)
        program = subprocess.Popen(["ssh", *self.options(1), f"sandbox+{session}@127.0.0.1", "python3", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdin.write(b"""
import socket, time
listener = socket.create_server(("127.0.0.1", 8128), backlog=64)
print("listening", flush=True)
held = [listener.accept() for _ in range(40)]
time.sleep(1000)
""")
        program.stdin.close()
        self.assertEqual(program.stdout.readline(), b"listening\n")
        transport = self.transport(1, session)
        held = [transport.open_channel("direct-tcpip", ("localhost", 8128), ("localhost", 1)) for _ in range(40)]
        channel = transport.open_session()
        channel.exec_command("echo on")
        self.assertEqual(channel.makefile().read(), b"on\n")
        self.assertEqual(len(held), 40)
        program.kill()
        program.wait()
        program.stdout.close()

    def test_the_end_of_a_session_is_the_end_of_its_connections(self):
        session = self.session_of(1)
        client = subprocess.Popen(["ssh", *self.options(2), f"sandbox+{session}@127.0.0.1", "echo begun; sleep 1000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.assertEqual(client.stdout.readline(), b"begun\n")
        self.assertEqual(self.cells[3].ask("DELETE", f"/sessions/{session}", token=TOKENS[0])[0], 200)
        self.assertNotEqual(client.wait(PATIENCE_S), 0)
        client.stdout.close()

    def test_a_key_that_has_gone_to_another_cell_is_followed(self):
        from server import PROGRAM
        session = self.session_of(3)
        self.ssh(2, session, "echo kept > f")
        move = lambda to: subprocess.run([PROGRAM, "cells", "move", "3", to, "--peers", f"file:{self.cells.peers}",
                                          "--peer-token-file", str(self.cells.secret)], check=True, capture_output=True)
        for to in ("1", "3"):
            move(to)
            for cell in (1, 2, 3):
                self.assertEqual(self.ssh(cell, session, "cat f").stdout, b"kept\n")

    def test_connections_leave_nothing(self):
        session = self.session_of(1)
        self.ssh(2, session, "true")
        until(lambda: all(self.cells[cell].log().count("ssh_opened") == self.cells[cell].log().count("ssh_closed")
                          for cell in (1, 2)), "the connections are closed")
        held = [self.cells[cell].descriptors() for cell in (1, 2)]
        threads = [self.cells[cell].threads() for cell in (1, 2)]
        for _ in range(10):
            self.ssh(2, session, "true")
            self.ssh(2, session, "true", kind="rsa", status=255)
        until(lambda: all(self.cells[cell].descriptors() <= held[i] for i, cell in enumerate((1, 2))), "they are gone")
        until(lambda: all(self.cells[cell].threads() <= threads[i] + 2 for i, cell in enumerate((1, 2))), "as are threads")


class Away(unittest.TestCase):
    def test_a_cell_that_is_gone_is_waited_for_and_then_said(self):
        with tempfile.TemporaryDirectory() as folder, Cells("--state-dir", folder, keys=(1, 2), ssh=True) as cells:
            session = cells.create(2)

            def begin():
                transport = paramiko.Transport(socket.create_connection(("127.0.0.1", cells[1].ssh_port), PATIENCE_S))
                transport.start_client(timeout=PATIENCE_S)
                return transport

            def log_in(transport):
                try:
                    transport.auth_password("sandbox+" + session, TOKENS[0])
                    channel = transport.open_session()
                    channel.exec_command("echo in")
                    return channel.makefile().read(), None
                except paramiko.AuthenticationException:
                    return None, transport.get_banner()
                finally:
                    transport.close()

            self.assertEqual(log_in(begin()), (b"in\n", None))
            client = begin()
            client.auth_password("sandbox+" + session, TOKENS[0])
            channel = client.open_session()
            channel.exec_command("echo begun; sleep 1000")
            self.assertEqual(channel.makefile().readline(), "begun\n")
            cells[2].process.kill()
            cells[2].process.wait()
            self.assertEqual(channel.recv_exit_status(), -1)
            client.join(PATIENCE_S)
            self.assertFalse(client.is_active())
            client.close()
            said, banner = log_in(begin())
            self.assertIsNone(said)
            self.assertIn(b"does not answer", banner)
            client = begin()
            self.assertEqual(cells.start_while_asked(2, lambda: log_in(client)), (b"in\n", None))


if __name__ == "__main__":
    unittest.main()

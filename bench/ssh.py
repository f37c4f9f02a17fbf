#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures SSH and SFTP of `cloche serve` against OpenSSH's own sshd, by turns in the same run.

    bench/ssh.py PROGRAM [--rounds N] [--mb N] [--sshd FILE]

PROGRAM is cloche. sshd (Debian: openssh-server) is started on a free port of the loopback, with keys and settings
of this run's own; without one there is only one column. The clients are OpenSSH's ssh and sftp and, for the tunnel,
paramiko. A row is the best of N rounds; `cpu` is what the server and all that it started took, in seconds.
"""
import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers import Server, free_port


class Side:
    """One of the two: how clients reach it."""

    def __init__(self, name: str, server: Server, key: str, port: int, user: str, sock):
        self.name, self.server, self.key, self.port, self.user = name, server, key, port, user
        self.sock = sock  # makes a socket for paramiko
        self.options = ["-F", "none", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o",
                        "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]

    def ssh(self, command: str, data: str = os.devnull) -> None:
        with open(data, "rb") as source:
            subprocess.run(["ssh", *self.options, "-p", str(self.port), f"{self.user}@127.0.0.1", command],
                           stdin=source, stdout=subprocess.DEVNULL, check=True)

    def sftp(self, batch: str) -> None:
        subprocess.run(["sftp", "-q", *self.options, "-P", str(self.port), "-b", "-", f"{self.user}@127.0.0.1"],
                       input=batch.encode(), stdout=subprocess.DEVNULL, check=True)

    def login(self) -> None:
        """Socket, handshake, `true`, its exit status: in this process."""
        import paramiko
        transport = paramiko.Transport(self.sock())
        transport.start_client(timeout=60)
        user = "sandbox" if self.user.startswith("sandbox+") else self.user
        transport.auth_publickey(user, paramiko.Ed25519Key.from_private_key_file(self.key))
        channel = transport.open_session()
        channel.exec_command("true")
        assert channel.recv_exit_status() == 0
        transport.close()


def session_of(port: int, public_key: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/sessions", json.dumps({"sshPublicKey": public_key}))
    session = json.loads(connection.getresponse().read())["sessionId"]
    connection.close()
    return session


def tunnel(port: int, session: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    assert b" 200 " in head, head
    return sock


def rows(mb: int, folder: Path) -> dict:
    """Name: (unit, what it is divided by or into, act)."""
    big, small = folder / "big", folder / "small"
    big.write_bytes(os.urandom(1 << 20) * mb)
    small.mkdir()
    for i in range(1000):
        (small / f"{i:04}.txt").write_bytes(b"%04d" % i * 250)
    back = folder / "back"
    rate = lambda act: ("MB/s", mb * 1.048576, act)
    time_of = lambda act: ("ms", 1000, act)
    there = "/tmp/cloche-bench"

    def small_up(side):
        side.ssh(f"rm -rf {there}; mkdir {there}")
        side.sftp(f"put -r {small} {there}/\n")

    def small_down(side):
        subprocess.run(["rm", "-rf", str(back)], check=True)
        side.sftp(f"get -r {there}/small {back}\n")

    return {
        "tunnel, handshake, `true`": time_of(lambda side: side.login()),
        "ssh host true": time_of(lambda side: side.ssh("true")),
        "ssh host 'cat > file'": rate(lambda side: side.ssh("cat > /tmp/bench-a", str(big))),
        "ssh host 'cat file'": rate(lambda side: side.ssh("cat /tmp/bench-a")),
        "sftp put": rate(lambda side: side.sftp(f"put {big} /tmp/bench-b\n")),
        "sftp get": rate(lambda side: side.sftp(f"get /tmp/bench-b {back}.big\n")),
        "sftp put -r, 1000 files": time_of(small_up),
        "sftp get -r, 1000 files": time_of(small_down),
    }


def measure(sides: list, table: dict, rounds: int) -> None:
    found = {}
    for _ in range(rounds):
        for name, (unit, factor, act) in table.items():
            for side in sides:
                cpu, start = side.server.cpu_s(), time.monotonic()
                act(side)
                took = time.monotonic() - start
                time.sleep(0.05)  # what it started is waited for by sshd
                best = found.setdefault(name, {}).setdefault(side.name, [float("inf"), float("inf")])
                best[0] = min(best[0], took)
                best[1] = min(best[1], side.server.cpu_s() - cpu)
    for name, of_side in found.items():
        unit, factor, _ = table[name]
        cells = []
        for side, (took, cpu) in of_side.items():
            cells.append(f"{side} {factor / took if unit == 'MB/s' else factor * took:8.1f} {unit:4} cpu {cpu:5.2f} s")
        if len(of_side) == 2:
            ours, native = [took for took, _ in of_side.values()]
            cells.append(f"speed {native / ours:5.2f}x")
        print(f"{name:28}", "   ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mb", type=int, default=128, help="size of the large file, in MiB")
    parser.add_argument("--sshd", default="/usr/sbin/sshd")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for key in ["key", "native"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        public = (folder / "key.pub").read_text().strip()
        (folder / "authorized").write_text(public + "\n")
        port, ssh_port, sshd_port = free_port(), free_port(), free_port()
        with Server([options.program, "serve", "--port", str(port), "--ssh-port", str(ssh_port), "--ssh-host-key",
                     str(folder / "host"), "--session-files", "4G"], port) as server:
            start = time.monotonic()
            for _ in range(100):
                session = session_of(port, public)
            print(f"{'session create to SSH-ready':28} cloche {(time.monotonic() - start) * 10:8.1f} ms")
            user = "sandbox+" + session
            sides = [Side("cloche", server, str(folder / "key"), ssh_port, user, lambda: tunnel(port, session))]
            table = rows(options.mb, folder)
            if not os.path.exists(options.sshd):
                return measure(sides, table, options.rounds)
            if os.getuid() == 0:
                os.makedirs("/run/sshd", exist_ok=True)  # it asks for that
            sftp = next((p for p in ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server"]
                         if os.path.exists(p)), "internal-sftp")
            with Server([options.sshd, "-D", "-f", "/dev/null", "-p", str(sshd_port), "-h", str(folder / "native"),
                         "-o", f"AuthorizedKeysFile={folder}/authorized", "-o", "StrictModes=no", "-o", "PidFile=none",
                         "-o", f"Subsystem=sftp {sftp}"], sshd_port) as native:
                import getpass
                sides.append(Side("sshd", native, str(folder / "key"), sshd_port, getpass.getuser(),
                                  lambda: socket.create_connection(("127.0.0.1", sshd_port))))
                measure(sides, table, options.rounds)


if __name__ == "__main__":
    sys.exit(main())

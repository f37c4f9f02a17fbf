# SPDX-License-Identifier: Apache-2.0
"""A cell, kept alive on the machine that it runs on, for as long as somebody renews its lease.

It ends with this process, also where that is killed: the kernel sees to that (PR_SET_PDEATHSIG). It is
ended by SIGKILL alone: a command that is cut off so has no result, which somebody could take for its own.
"""
from __future__ import annotations

import hashlib
import json
import os
import secrets
import select
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Deque, List, Optional, Sequence, Set
from urllib.parse import urlsplit

from .._binary import find_binary
from .._errors import ServerError
from .address import Address

# PR_SET_PDEATHSIG, SIGKILL; the parent may have ended before that.
_LAUNCH = """import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
_START_SECONDS = 120.0
_LONGEST_PAUSE_SECONDS = 5.0
_LAST_LINES = 20


class CellHost:
    """One cell, started anew where it ends. Thread-safe."""

    def __init__(self, node_id: str, host: str, token: str, lease_s: float, words: Sequence[str] = (),
                 binary: Optional[str] = None, beside: Optional[int] = None) -> None:
        """`words` are options of `cloche serve`, besides; `beside` is a process with which it ends for good too. Nothing
        runs before the first `renew`."""
        self._node_id, self._host, self._token, self._lease_s = node_id, host, token, lease_s
        self._words = list(words)
        self._binary = binary
        self._beside = os.pidfd_open(beside) if beside is not None else -1
        self._changed = threading.Condition()
        self._address: Optional[Address] = None
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        self._trouble: Optional[str] = None
        self._leased_until = 0.0
        self._ended = False
        self._wake_read, self._wake_write = os.pipe()
        # The kernel means by a parent the thread that has started a process: this one lives as long as all do.
        self._keeper = threading.Thread(target=self._keep, name="cloche cell", daemon=True)
        self._keeper.start()

    def renew(self, patience_s: float = _START_SECONDS) -> Address:
        """The cell lives for the time of the lease from now on; waits for one that is being started.

        Raises:
            ServerError: it does not start; the message has its last words.
        """
        with self._changed:
            self._leased_until = time.monotonic() + self._lease_s
            self._trouble = None
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._address is not None or self._trouble is not None or self._ended, patience_s)
            if self._address is None or self._ended:
                why = "it was ended for good" if self._ended else self._trouble or "it takes too long"
                raise ServerError(f"the cell does not start: {why}")
            return self._address

    def where(self) -> Optional[Address]:
        """Where it is, if it runs."""
        with self._changed:
            return self._address if not self._ended else None

    def stop(self) -> None:
        """Ends it for good, and waits for that."""
        with self._changed:
            self._end()
        self._keeper.join()

    def _end(self) -> None:
        if not self._ended:
            os.write(self._wake_write, b"x")
        self._ended = True
        self._changed.notify_all()

    def _is_leased(self) -> bool:
        return not self._ended and time.monotonic() < self._leased_until

    def _keep(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._is_leased())
                if pause_s:
                    self._changed.wait_for(lambda: self._ended, pause_s)
                if self._ended:
                    for descriptor in (self._wake_read, self._wake_write, *([self._beside] if self._beside >= 0 else [])):
                        os.close(descriptor)
                    return
            begun = time.monotonic()
            trouble = self._run()
            with self._changed:
                self._address = None
                self._trouble = trouble
                self._changed.notify_all()
            ran_s = time.monotonic() - begun
            pause_s = 0.0 if trouble is None or ran_s > 60 else min(_LONGEST_PAUSE_SECONDS, 2 * pause_s + 0.1)

    def _run(self) -> Optional[str]:
        """One life of it. Gives why it has ended, or None: the lease was over."""
        try:
            # The server reads no token: its digest, from memory that has no name.
            tokens = os.memfd_create("cloche tokens", 0)
        except OSError as error:
            return str(error)
        try:
            digest = hashlib.sha256(self._token.encode()).hexdigest()
            os.write(tokens, f"pool {digest}\n".encode())
            process = self._process = self._start(tokens)
        except (OSError, ServerError) as error:
            return str(error)
        finally:
            os.close(tokens)
        lines: Deque[str] = deque(maxlen=_LAST_LINES)
        reader = threading.Thread(target=self._read, args=(process, lines), name="cloche cell log", daemon=True)
        reader.start()
        ended: Set[int] = set()
        try:
            with _poll_of(process.pid, self._wake_read, self._beside) as poll:
                while self._is_leased() and not (ended := poll.ended(self._leased_until - time.monotonic())):
                    pass
            if self._beside >= 0 and self._beside in ended:
                with self._changed:
                    self._end()
        finally:
            status = process.poll() if not self._ended else None
            process.kill()
            process.wait()
            reader.join()
        if status is None:
            return None
        words = f": {lines[-1]}" if lines else ""
        return f"it has ended {f'with status {status}' if status >= 0 else f'by signal {-status}'}{words}"

    def _start(self, tokens: int) -> "subprocess.Popen[bytes]":
        command: List[str] = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), self._binary or find_binary(), "serve",
                              "--host", self._host, "--port", "0", "--tokens-file", f"/proc/self/fd/{tokens}",
                              "--idle-timeout", "0", "--no-console", "--log-format", "json", *self._words]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                pass_fds=(tokens,), start_new_session=True)

    def _read(self, process: "subprocess.Popen[bytes]", lines: Deque[str]) -> None:
        """Its log, line by line; what it says at first is where it listens."""
        assert process.stderr is not None
        fragment = ""
        with process.stderr:
            for line in process.stderr:
                text = line.decode("utf-8", "replace").strip()[:2000]
                lines.append(text)
                if self._address is None and '"certificate_made"' in text:
                    fragment = f"#sha256={_field(text, 'sha256')}"
                if self._address is None and '"listening"' in text:
                    self._listens(_field(text, "url"), fragment)

    def _listens(self, said: str, fragment: str) -> None:
        try:
            parts = urlsplit(said)
            port = parts.port
        except ValueError:
            return
        host = f"[{self._host}]" if ":" in self._host else self._host
        with self._changed:
            self._address = Address(self._node_id, f"{parts.scheme}://{host}:{port}{fragment}", secrets.token_hex(8))
            self._changed.notify_all()


def _field(line: str, name: str) -> str:
    """Of a line of the log; empty: it has none."""
    try:
        return str(json.loads(line)[name])
    except (ValueError, KeyError, TypeError):
        return ""


class _poll_of:
    """Waits for the end of a process, and for what these descriptors have to tell."""

    def __init__(self, pid: int, *descriptors: int) -> None:
        self._process = os.pidfd_open(pid)
        self._poll = select.poll()
        for one in (self._process, *descriptors):
            if one >= 0:
                self._poll.register(one, select.POLLIN)

    def ended(self, within_s: float) -> Set[int]:
        """Which of them have come in that time."""
        return {one for one, _ in self._poll.poll(max(0.0, within_s) * 1000 + 1)}

    def __enter__(self) -> "_poll_of":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._process)

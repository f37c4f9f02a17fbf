# SPDX-License-Identifier: Apache-2.0
"""SSH and SFTP into a session."""
from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Dict, Iterator, Mapping, Optional, Type, Union

import paramiko

from . import settings
from .errors import SandboxAPIError, SandboxConnectionError, SandboxOperationError, wrap
from .tunnel import HTTPConnectTunnel


@contextmanager
def _until(channel: paramiko.Channel, deadline: Optional[float]) -> Iterator[None]:
    """paramiko waits without a limit for what a server answers: at that time the channel is closed under it, which
    is a `socket.timeout`."""
    if deadline is None:
        yield
        return

    def close() -> None:
        with suppress(paramiko.SSHException, OSError, EOFError):
            channel.close()

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), close)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (paramiko.SSHException, OSError, EOFError):
        if time.monotonic() < deadline:
            raise
        raise socket.timeout("timed out") from None
    finally:
        timer.cancel()


class SessionSSHClient:
    """A connection to one session. connect() or `with` opens it, close() ends it.

    With neither `password` nor `pkey` it logs in with the bearer token.
    """

    def __init__(self, api_url: Optional[str], bearer_token: Optional[str], session_id: str,
                 username: str = "sandbox", password: Optional[str] = None,
                 pkey: Optional[paramiko.PKey] = None, timeout: float = 20,
                 verify_ssl: bool = True, connect_path_template: str = "/sessions/{sessionId}",
                 host_key_policy: Optional[paramiko.MissingHostKeyPolicy] = None,
                 get_pty: bool = False, extra_headers: Optional[Mapping[str, str]] = None) -> None:
        self.api_url: str
        self.bearer_token: str
        self.api_url, self.bearer_token = settings.resolve(api_url, bearer_token)
        self.session_id = session_id
        self.username = username
        self.timeout = timeout
        self.get_pty = get_pty
        self._password = password
        self._pkey = pkey
        self._host_key_policy = host_key_policy
        self._tunnel = HTTPConnectTunnel(self.api_url, self.bearer_token, session_id,
                                         connect_path_template, timeout, verify_ssl, extra_headers)
        self._client: Optional[paramiko.SSHClient] = None

    def __enter__(self) -> "SessionSSHClient":
        self.connect()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def connect(self) -> None:
        """Opens the tunnel and logs in. Does nothing when that is done."""
        if self._client is not None:
            return
        password = self._password
        if password is None and self._pkey is None:
            password = self.bearer_token or "none"
        tunnel = self._tunnel.open()
        client = paramiko.SSHClient()
        # The host is whoever answers at api_url; TLS says who that is.
        client.set_missing_host_key_policy(self._host_key_policy or paramiko.AutoAddPolicy())
        try:
            client.connect(hostname=settings.split(self.api_url).hostname or "sandbox",
                           username=self.username, password=password, pkey=self._pkey,
                           sock=tunnel, look_for_keys=False, allow_agent=False,
                           timeout=self.timeout, banner_timeout=self.timeout,
                           auth_timeout=self.timeout)
        except (paramiko.SSHException, OSError, EOFError) as error:
            client.close()
            self._tunnel.close()
            raise wrap(SandboxOperationError if isinstance(error, paramiko.SSHException)
                       else SandboxConnectionError, "SSH does not connect", error) from error
        except BaseException:
            client.close()
            self._tunnel.close()
            raise
        self._client = client

    def run_command(self, command: str, timeout: Optional[float] = 60) -> Dict[str, Any]:
        """{"stdout", "stderr", "exit_code"}; text, bytes that are no UTF-8 replaced. A command over its
        time is killed and raises, as a TimeoutError too. exit_code is -1 for one ended by a signal."""
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            channel = self._need().get_transport().open_session(timeout=self.timeout)
        except (paramiko.SSHException, OSError, EOFError, AttributeError) as error:
            raise wrap(SandboxOperationError, "SSH gives no channel", error) from error
        with channel:
            try:
                with _until(channel, deadline):
                    if self.get_pty:
                        channel.get_pty()
                    channel.exec_command(command)
                    channel.shutdown_write()
                out, err = self._collect(channel, deadline)
                return {"stdout": out.decode("utf-8", "replace"),
                        "stderr": err.decode("utf-8", "replace"),
                        "exit_code": channel.recv_exit_status()}
            except socket.timeout as error:
                raise wrap(SandboxOperationError, f"the command took over {timeout} s",
                           error) from error
            except (paramiko.SSHException, OSError, EOFError) as error:
                raise wrap(SandboxOperationError, "the command failed", error) from error

    @staticmethod
    def _collect(channel: paramiko.Channel, deadline: Optional[float]) -> "tuple[bytes, bytes]":
        parts: "Dict[str, list[bytes]]" = {"out": [], "err": []}
        while True:
            moved = False
            while channel.recv_ready():
                parts["out"].append(channel.recv(65536))
                moved = True
            while channel.recv_stderr_ready():
                parts["err"].append(channel.recv_stderr(65536))
                moved = True
            if moved:
                continue
            if channel.exit_status_ready() and (channel.closed or channel.eof_received):
                # What came between the looks and the end.
                if not channel.recv_ready() and not channel.recv_stderr_ready():
                    return b"".join(parts["out"]), b"".join(parts["err"])
                continue
            if channel.closed:
                return b"".join(parts["out"]), b"".join(parts["err"])
            left = 0.05 if deadline is None else min(0.05, deadline - time.monotonic())
            if left <= 0:
                raise socket.timeout("timed out")
            time.sleep(min(left, 0.002))

    def open_sftp(self) -> paramiko.SFTPClient:
        try:
            return self._need().open_sftp()
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise wrap(SandboxOperationError, "SFTP does not open", error) from error

    def upload_file(self, local_path: Union[str, "os.PathLike[str]"], remote_path: str) -> None:
        with self.open_sftp() as sftp:
            try:
                sftp.put(os.fspath(local_path), remote_path)
            except (paramiko.SSHException, OSError, EOFError) as error:
                raise wrap(SandboxOperationError, f"cannot upload to {remote_path}",
                           error) from error

    def download_file(self, remote_path: str, local_path: Union[str, "os.PathLike[str]"]) -> None:
        with self.open_sftp() as sftp:
            try:
                sftp.get(remote_path, os.fspath(local_path))
            except (paramiko.SSHException, OSError, EOFError) as error:
                raise wrap(SandboxOperationError, f"cannot download {remote_path}",
                           error) from error

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
        self._tunnel.close()

    def _need(self) -> paramiko.SSHClient:
        if self._client is None:
            raise SandboxOperationError("not connected: call connect() first")
        return self._client


__all__ = ["SandboxAPIError", "SessionSSHClient"]

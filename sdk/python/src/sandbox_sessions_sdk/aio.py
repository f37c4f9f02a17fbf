# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: each call runs its blocking twin on a thread of the loop's pool.

    async with SessionsClient(api_url, token) as client:
        session = await client.create_session()
        async with SessionSSHClient(api_url, token, session.session_id, username="sandbox") as ssh:
            print((await ssh.run_command("echo hello"))["stdout"])
"""
from __future__ import annotations

import asyncio
import functools
import socket
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Type, TypeVar

import paramiko

from . import client as _client
from . import ssh as _ssh
from . import tunnel as _tunnel
from .errors import (RateLimitError, SandboxAPIError, SandboxConnectionError, SandboxOperationError,
                     SessionNotFoundError, UnauthorizedError)
from .models import Session

T = TypeVar("T")


async def _on_thread(call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(call, *args, **kwargs))


class SessionsClient:
    """See sandbox_sessions_sdk.SessionsClient."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = _client.SessionsClient(*args, **kwargs)

    async def __aenter__(self) -> "SessionsClient":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def close(self) -> None:
        await _on_thread(self._sync.close)

    async def create_session(self, ttl: int = 3600, image: Optional[str] = None,
                             metadata: Optional[Dict[str, Any]] = None,
                             ssh_public_key: Optional[str] = None, *,
                             sandbox: Optional[Dict[str, Any]] = None) -> Session:
        return await _on_thread(self._sync.create_session, ttl, image, metadata, ssh_public_key,
                                sandbox=sandbox)

    async def list_sessions(self, limit: int = 50, offset: int = 0) -> Dict[str, Any]:
        return await _on_thread(self._sync.list_sessions, limit, offset)

    async def get_session(self, session_id: str) -> Session:
        return await _on_thread(self._sync.get_session, session_id)

    async def delete_session(self, session_id: str) -> None:
        await _on_thread(self._sync.delete_session, session_id)

    async def pause_session(self, session_id: str) -> Session:
        return await _on_thread(self._sync.pause_session, session_id)

    async def resume_session(self, session_id: str) -> Session:
        return await _on_thread(self._sync.resume_session, session_id)


class HTTPConnectTunnel:
    """See sandbox_sessions_sdk.HTTPConnectTunnel. The socket is an ordinary one, which blocks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = _tunnel.HTTPConnectTunnel(*args, **kwargs)

    async def open(self) -> socket.socket:
        return await _on_thread(self._sync.open)

    async def close(self) -> None:
        await _on_thread(self._sync.close)


class SessionSSHClient:
    """See sandbox_sessions_sdk.SessionSSHClient."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = _ssh.SessionSSHClient(*args, **kwargs)

    async def __aenter__(self) -> "SessionSSHClient":
        await self.connect()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def connect(self) -> None:
        await _on_thread(self._sync.connect)

    async def run_command(self, command: str, timeout: Optional[float] = 60) -> Dict[str, Any]:
        return await _on_thread(self._sync.run_command, command, timeout)

    async def open_sftp(self) -> paramiko.SFTPClient:
        """paramiko's client, which blocks: use it on a thread."""
        return await _on_thread(self._sync.open_sftp)

    async def upload_file(self, local_path: Any, remote_path: str) -> None:
        await _on_thread(self._sync.upload_file, local_path, remote_path)

    async def download_file(self, remote_path: str, local_path: Any) -> None:
        await _on_thread(self._sync.download_file, remote_path, local_path)

    async def close(self) -> None:
        await _on_thread(self._sync.close)


__all__ = [
    "HTTPConnectTunnel", "RateLimitError", "SandboxAPIError", "SandboxConnectionError", "SandboxOperationError", "Session",
    "SessionNotFoundError", "SessionSSHClient", "SessionsClient", "UnauthorizedError",
]

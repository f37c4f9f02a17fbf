# SPDX-License-Identifier: Apache-2.0
"""Remote sandboxes: sessions by REST, and SSH and SFTP into them through the same port.

    from sandbox_sessions_sdk import SessionsClient, SessionSSHClient

    with SessionsClient(api_url, token) as client:
        session = client.create_session(ttl=600)
        with SessionSSHClient(api_url, token, session.session_id, username="sandbox") as ssh:
            print(ssh.run_command("echo hello")["stdout"])
        client.delete_session(session.session_id)

`api_url` and `bearer_token` may be None: then SANDBOX_API_URL and SANDBOX_API_TOKEN are taken. The same
for asyncio is in `sandbox_sessions_sdk.aio`.
"""
from .client import SessionsClient
from .errors import (RateLimitError, SandboxAPIError, SandboxConnectionError, SandboxOperationError,
                     SessionNotFoundError, UnauthorizedError)
from .models import Session
from .ssh import SessionSSHClient
from .tunnel import HTTPConnectTunnel

__all__ = [
    "HTTPConnectTunnel", "RateLimitError", "SandboxAPIError", "SandboxConnectionError",
    "SandboxOperationError", "Session", "SessionNotFoundError", "SessionSSHClient", "SessionsClient",
    "UnauthorizedError",
]

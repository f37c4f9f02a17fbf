# SPDX-License-Identifier: Apache-2.0
"""Sessions by REST."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Dict, Optional, Type
from urllib.parse import quote

import requests

from . import settings
from .errors import SandboxConnectionError, SandboxOperationError, from_response, wrap
from .models import Session


class SessionsClient:
    """Makes, finds, lists and deletes sessions. Keeps its connections open; close() or `with` ends them.
    May be used by several threads as far as requests.Session may."""

    def __init__(self, api_url: Optional[str] = None, bearer_token: Optional[str] = None,
                 timeout: float = 30, verify_ssl: bool = True) -> None:
        self.api_url: str
        self.bearer_token: str
        self.api_url, self.bearer_token = settings.resolve(api_url, bearer_token)
        self.timeout = timeout
        self.verify_ssl = verify_ssl
        self._http = requests.Session()
        self._http.headers["Content-Type"] = "application/json"
        if self.bearer_token:
            self._http.headers["Authorization"] = f"Bearer {self.bearer_token}"

    def __enter__(self) -> "SessionsClient":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def create_session(self, ttl: int = 3600, image: Optional[str] = None,
                       metadata: Optional[Dict[str, Any]] = None,
                       ssh_public_key: Optional[str] = None, *,
                       sandbox: Optional[Dict[str, Any]] = None) -> Session:
        """A fresh session; SSH is ready when this returns. ValueError for a ttl out of 60..28800.

        `sandbox`: what its sandbox will have, within what the server allows, by the names that
        docs/options.md has for JSON: {"limits": {"memoryBytes": "512M"}, "packages": ["numpy"]}.
        What the server does not allow is a SandboxOperationError that says what to do."""
        settings.check_ttl(ttl)
        body: Dict[str, Any] = {"ttl": ttl}
        if image is not None:
            body["image"] = image
        if metadata is not None:
            body["metadata"] = metadata
        if ssh_public_key is not None:
            body["sshPublicKey"] = ssh_public_key
        if sandbox is not None:
            body["sandbox"] = sandbox
        return Session.from_json(self._ask("POST", "/sessions", json=body))

    def list_sessions(self, limit: int = 50, offset: int = 0) -> Dict[str, Any]:
        """{"sessions": [Session], "total", "limit", "offset"}, newest first."""
        settings.check_page(limit, offset)
        body = self._ask("GET", "/sessions", params={"limit": limit, "offset": offset})
        return {"sessions": [Session.from_json(s) for s in body.get("sessions") or []],
                "total": body.get("total", 0), "limit": body.get("limit", limit),
                "offset": body.get("offset", offset)}

    def get_session(self, session_id: str) -> Session:
        return Session.from_json(self._ask("GET", self._path(session_id)))

    def delete_session(self, session_id: str) -> None:
        self._ask("DELETE", self._path(session_id))

    def pause_session(self, session_id: str) -> Session:
        return Session.from_json(self._ask("POST", self._path(session_id) + "/pause"))

    def resume_session(self, session_id: str) -> Session:
        return Session.from_json(self._ask("POST", self._path(session_id) + "/resume"))

    @staticmethod
    def _path(session_id: str) -> str:
        return "/sessions/" + quote(settings.check_id(session_id), safe="")

    def _ask(self, method: str, path: str, **more: Any) -> Dict[str, Any]:
        try:
            # Said with each request: of a session, the environment's would go first.
            answer = self._http.request(method, self.api_url + path, timeout=self.timeout,
                                        verify=self.verify_ssl, **more)
        except requests.RequestException as error:
            raise wrap(SandboxConnectionError, f"cannot reach {self.api_url}", error) from error
        try:
            body = answer.json() if answer.content else {}
        except ValueError:
            body = None
        if not answer.ok:
            raise from_response(answer.status_code, body, answer.headers, answer.text)
        if not isinstance(body, dict):
            raise SandboxOperationError("the server's answer is no JSON object",
                                        status_code=answer.status_code)
        return body

# SPDX-License-Identifier: Apache-2.0
"""Where the server is, and who asks."""
from __future__ import annotations

import os
from typing import Optional, Tuple
from urllib.parse import SplitResult, urlsplit


def resolve(api_url: Optional[str], bearer_token: Optional[str]) -> Tuple[str, str]:
    """The two as they were given, or from the environment."""
    url = api_url or os.environ.get("SANDBOX_API_URL")
    token = bearer_token if bearer_token is not None else os.environ.get("SANDBOX_API_TOKEN", "")
    if not url:
        raise ValueError("api_url is required: pass it, or set SANDBOX_API_URL")
    split(url)
    return url.rstrip("/"), token


def split(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"api_url must be http://HOST or https://HOST, not {url!r}")
    return parts


def check_ttl(ttl: int) -> None:
    if isinstance(ttl, bool) or not isinstance(ttl, int) or not 60 <= ttl <= 28800:
        raise ValueError("ttl must be a whole number of seconds from 60 to 28800")


def check_page(limit: int, offset: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 100:
        raise ValueError("limit must be a whole number from 1 to 100")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ValueError("offset must be a whole number from 0 on")


def check_id(session_id: str) -> str:
    if not isinstance(session_id, str) or not session_id:
        raise ValueError("session_id is required")
    return session_id

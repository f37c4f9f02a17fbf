# SPDX-License-Identifier: Apache-2.0
"""What the server tells of a session."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Optional


def parse_time(text: Optional[str]) -> Optional[datetime]:
    """"2026-01-02T03:04:05.678Z" as an aware datetime."""
    if not text:
        return None
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


@dataclass
class Session:
    session_id: str
    status: str
    created_at: Optional[datetime] = None
    expires_at: Optional[datetime] = None
    last_activity_at: Optional[datetime] = None
    metadata: Dict[str, Any] = field(default_factory=dict)
    image: Optional[str] = None

    @classmethod
    def from_json(cls, body: Dict[str, Any]) -> "Session":
        return cls(session_id=body["sessionId"], status=body.get("status", "running"),
                   created_at=parse_time(body.get("createdAt")),
                   expires_at=parse_time(body.get("expiresAt")),
                   last_activity_at=parse_time(body.get("lastActivityAt")),
                   metadata=body.get("metadata") or {}, image=body.get("image"))

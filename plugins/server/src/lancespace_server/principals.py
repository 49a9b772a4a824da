"""Who is acting: set by the server around each operation, read by the authorization wrapper."""

from __future__ import annotations

from contextvars import ContextVar

ANONYMOUS = "anonymous"
"""Who acts where authentication is off."""

SYSTEM = "system:server"
"""The server itself, asking the namespace whether it is ready; no caller can be called that."""

PRINCIPAL: ContextVar[str | None] = ContextVar("lancespace_principal", default=None)
"""``key:alice``, ``jwt:alice`` or ``cert:CN=alice``: the method is part of the name, so that no two methods meet in
one. Unset outside of the server, where the authorization wrapper lets nobody through."""

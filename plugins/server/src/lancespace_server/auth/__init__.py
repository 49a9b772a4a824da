"""Authentication: who is calling."""

from __future__ import annotations

from lancespace_server.auth.authenticator import Authenticator

__all__ = ["Authenticator"]

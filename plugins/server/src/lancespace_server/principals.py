"""The principals that no caller can be: every caller's name begins with the method that authenticated it."""

from __future__ import annotations

from lancespace.authoring import Principal

ANONYMOUS = Principal("anonymous")
"""Who acts where authentication is off."""

SYSTEM = Principal("system:server")
"""The server itself. It is recognized by identity: a stored principal of this name is not the server."""

ROLE_PREFIX = "role:"
"""Begins the name by which a policy grants something to a role."""

"""Who is acting: set around each operation by whatever knows its callers, such as the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple


class Principal(NamedTuple):
    """A caller, and the roles or groups that it had when it called."""

    name: str
    """Such as ``key:alice``, ``jwt:alice`` or ``cert:CN=alice``."""
    roles: tuple[str, ...] = ()

    @classmethod
    def of(cls, kept: Any) -> Principal | None:
        """The principal that was kept as a JSON object, by ``_asdict``; None for null.

        Raises:
            LookupError, TypeError: If it is not what we keep.
        """
        return None if kept is None else cls(str(kept["name"]), tuple(map(str, kept["roles"])))


PRINCIPAL: ContextVar[Principal | None] = ContextVar("lancespace_principal", default=None)
"""Unset where nobody has to be told apart: in a program that connects by itself."""


@contextmanager
def acting(principal: Principal | None) -> Iterator[None]:
    """Everything inside is done by this principal, and with its rights."""
    token = PRINCIPAL.set(principal)
    try:
        yield
    finally:
        PRINCIPAL.reset(token)

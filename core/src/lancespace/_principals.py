"""The principal of the current operation. The server sets it for each request, and jobs for their creator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple


class Principal(NamedTuple):
    """An authenticated caller, with the roles or groups of its credentials."""

    name: str
    """For example ``key:alice``, ``jwt:alice`` or ``cert:CN=alice``."""
    roles: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: Any) -> Principal | None:
        """The principal from the JSON object that ``_asdict`` was stored as; None for null.

        Raises:
            LookupError, TypeError: If the value has another form.
        """
        return None if stored is None else cls(str(stored["name"]), tuple(map(str, stored["roles"])))


PRINCIPAL: ContextVar[Principal | None] = ContextVar("lancespace_principal", default=None)
"""None in embedded use, where there are no callers to authenticate."""


@contextmanager
def acting(principal: Principal | None) -> Iterator[None]:
    """Run the body as this principal."""
    token = PRINCIPAL.set(principal)
    try:
        yield
    finally:
        PRINCIPAL.reset(token)

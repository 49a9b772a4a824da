"""Serves any lancespace namespace as the Lance REST catalog: ``serve("dir", {"root": "/data"})``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancespace_server.serving import serve
from lancespace_server.settings import ServerSettings

if TYPE_CHECKING:
    from lancespace_server.application import create_app

__all__ = ["ServerSettings", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lancespace_server.application import create_app

    return create_app

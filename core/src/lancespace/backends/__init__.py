"""Base classes for backends, and the reference backend.

:class:`Backend` is the least a backend is; :class:`TableBackend` gives every table operation to a catalog that can say
where its tables are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lancespace.backends.base import Backend

if TYPE_CHECKING:
    from lancespace.backends.entries import TableEntry
    from lancespace.backends.tables import TableBackend

__all__ = ["Backend", "TableBackend", "TableEntry"]

_MODULES = {"TableBackend": "tables", "TableEntry": "entries"}


def __getattr__(name: str) -> Any:
    """Load what brings pylance on use: a light client such as REST does without."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

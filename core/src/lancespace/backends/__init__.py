"""Base classes for backends, and the reference backend.

:class:`Backend` is the least a backend is; :class:`TableBackend` gives every table operation to a catalog that can say
where its tables are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancespace.backends.base import Backend

if TYPE_CHECKING:
    from lancespace.backends.tables import TableBackend

__all__ = ["Backend", "TableBackend"]


def __getattr__(name: str) -> Any:
    """Load TableBackend on use: it brings pylance, which a light client such as REST does without."""
    if name != "TableBackend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lancespace.backends.tables import TableBackend

    return TableBackend

"""lancespace: a plugin-based framework for Lance namespaces.

``connect("dir", {"root": "/data"})`` gives a :class:`Namespace`; backends, storages, engines and wrappers are plugins
found through entry points. Importing this package imports none of them, and nothing heavy: names below load on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lancespace.backends import Backend, TableBackend
    from lancespace.hookspecs import hookimpl
    from lancespace.namespace import Namespace, connect
    from lancespace.operations import OPERATIONS
    from lancespace.properties import Property
    from lancespace.table import Table

__version__ = "0.1.0"

__all__ = [
    "OPERATIONS",
    "Backend",
    "Namespace",
    "Property",
    "Table",
    "TableBackend",
    "__version__",
    "connect",
    "hookimpl",
]

_HOME = {
    "OPERATIONS": "lancespace.operations",
    "Backend": "lancespace.backends",
    "Namespace": "lancespace.namespace",
    "Property": "lancespace.properties",
    "Table": "lancespace.table",
    "TableBackend": "lancespace.backends",
    "connect": "lancespace.namespace",
    "hookimpl": "lancespace.hookspecs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

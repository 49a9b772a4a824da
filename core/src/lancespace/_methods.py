"""The spec's operations as methods, made from the table.

``methods.pyi`` beside this file tells type checkers about them. It is generated (``python -m tools.generate``), and a
test keeps it true.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from lance_namespace import LanceNamespace

from lancespace._operations import ALIASES, OPERATIONS, Operation


def _method(operation: Operation) -> Callable[..., Any]:
    def with_data(self: Any, request: Any = None, request_data: Any = None, **fields: Any) -> Any:
        return self._answer(operation, request, request_data, fields)

    def without_data(self: Any, request: Any = None, **fields: Any) -> Any:
        return self._answer(operation, request, None, fields)

    return with_data if operation.takes_data else without_data


def _deprecated(alias: str, name: str) -> Callable[..., Any]:
    def method(self: Any, request: Any = None, **fields: Any) -> Any:
        warnings.warn(f"{alias} is deprecated, use {name}", DeprecationWarning, stacklevel=2)
        return getattr(self, name)(request, **fields)

    return method


def _all_methods() -> dict[str, Any]:
    methods = {operation.name: _method(operation) for operation in OPERATIONS.values()}
    methods |= {alias: _deprecated(alias, name) for alias, name in ALIASES.items()}
    for name, method in methods.items():
        base = getattr(LanceNamespace, name)
        method.__name__, method.__qualname__ = name, f"OperationMethods.{name}"
        method.__doc__ = base.__doc__
    return methods


OperationMethods = type("OperationMethods", (LanceNamespace,), {"__module__": __name__, **_all_methods()})

"""What the processes of a race do; a module of its own, since they must be able to import it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lance_namespace import LanceNamespaceError

import lancespace
from lancespace_testing.samples import sample

OK = "ok"
TAKEN = frozenset({"NamespaceAlreadyExistsError", "TableAlreadyExistsError"})
"""How those lose who came too late."""


def enter(barrier: Any, properties: dict[str, str], operation: str, names: Sequence[str]) -> list[str]:
    """Create a namespace or a table under every name, in a process of its own, and say how each went."""
    with lancespace.connect("dir", properties) as namespace:
        actions: dict[str, Callable[[str], object]] = {
            "create_namespace": namespace.create_namespace,
            "create_table": lambda name: namespace.create_table(name, sample()),
        }
        barrier.wait()
        return [_outcome(actions[operation], name) for name in names]


def _outcome(act: Callable[[str], object], name: str) -> str:
    try:
        act(name)
    except LanceNamespaceError as error:
        return type(error).__name__
    return OK

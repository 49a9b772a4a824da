"""The plugins of this repository, loaded from what their pyproject files declare."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from tools.workspace import packages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace.registry import Group


def ours(group: Group) -> Iterator[tuple[str, str, Any]]:
    """Name, distribution and class of our plugins of a group, in the order of the folders.

    A package that has no code yet has no plugins.
    """
    for package in packages():
        if (package.source / "__init__.py").exists():
            for name, value in package.project.get("entry-points", {}).get(group.name, {}).items():
                yield name, package.name, EntryPoint(name, value, group.name).load()

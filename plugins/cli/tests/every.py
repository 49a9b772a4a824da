"""Every command of this repository, those that other packages add as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from lancespace_cli.app import build

ELSEWHERE = ("serve", "pipeline")
"""They have tests of their own."""


def commands(group: Any, parent: Any = None, *path: str) -> Iterator[tuple[list[str], Any]]:
    """The commands below a group, each with the words that lead to it."""
    context = typer.Context(group, info_name=path[-1] if path else "lancespace", parent=parent)
    for name in group.list_commands(context):
        if name in ELSEWHERE:
            continue
        _, command, _ = group.resolve_command(context, [name])
        if hasattr(command, "list_commands"):
            yield from commands(command, context, *path, name)
        else:
            yield [*path, name], command


ROOT: Any = typer.main.get_command(build())
ALL = {" ".join(words): command for words, command in commands(ROOT)}

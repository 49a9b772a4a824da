"""The command knows core alone; packages that add commands know one module of it, and only where these commands are."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import lancespace_cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGINS = Path(__file__).parents[2]
ALLOWED = {"lancespace", "lancespace.authoring"}


def imported(file: Path) -> Iterator[str]:
    """The modules of ours that a file imports, lazily and for types too."""
    for node in ast.walk(ast.parse(file.read_text())):
        found = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in found if name.startswith("lancespace"))


def test_the_command_knows_core_alone():
    files = list(Path(lancespace_cli.__file__).parent.rglob("*.py"))
    others = {name for file in files for name in imported(file) if not name.startswith("lancespace_cli")}

    assert others == ALLOWED


def test_others_know_one_module_of_the_command():
    knowing = {
        (file.relative_to(PLUGINS), name)
        for file in PLUGINS.glob("**/src/**/*.py")
        if "lancespace_cli" not in file.parts and "templates" not in file.parts
        for name in imported(file)
        if name.startswith("lancespace_cli")
    }

    assert {name for _, name in knowing} == {"lancespace_cli.authoring"}
    assert all(file.stem == "commands" or "_commands" in file.parts for file, _ in knowing)
    assert len(knowing) >= len(("dir", "jobs", "spark", "testing"))

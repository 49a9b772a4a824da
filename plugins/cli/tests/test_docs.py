"""The guide says what the command does; every command says how it is called."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
import typer

from lancespace_cli import exits
from lancespace_cli.app import build
from plugins.cli.tests.terminals import Terminal, environment
from tests.docs.pages import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = DOCS / "guide" / "cli.md"
COLUMNS = 100
VARYING = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00|[0-9a-f]{8}_|[0-9a-f]{32}|total_bytes +\d+|\d{3,} bytes")


def commands(command: Any, path: str = "lancespace") -> Iterator[tuple[str, Any]]:
    """All commands and those below them."""
    inside = getattr(command, "commands", {})
    if not inside:
        yield path, command
    for name, one in inside.items():
        yield from commands(one, f"{path} {name}")


ALL = list(commands(typer.main.get_command(build())))


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """The commands of the page, and what it says they print."""
    for block in blocks(page):
        if block.language == "console":
            for step in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
                command, _, printed = step.partition("\n")
                yield command, printed


def settled(text: str) -> str:
    """Without times, random names, and spaces at the ends of lines."""
    lines = re.sub(r"/\S+/lake", "lake", text.strip()).splitlines()
    return "\n".join(VARYING.sub("…", line).rstrip() for line in lines)


def run_page(folder: Path) -> list[tuple[str, str, str]]:
    """Each command of the page: it, what the page says it prints, and what it prints."""
    for block in blocks(PAGE):
        if block.title:
            (folder / block.title).write_text(block.code)
    terminal = Terminal(folder, environment(LANCESPACE_ROOT="lake", LANCE_LOG="error"), columns=COLUMNS)
    try:
        return [(command, printed, terminal.run(*shlex.split(command)[1:]).shown) for command, printed in steps(PAGE)]
    finally:
        terminal.close()


def test_the_tour_is_real(tmp_path: Path):
    for command, printed, real in run_page(tmp_path):
        assert settled(real) == settled(printed), command


def test_the_table_of_exit_codes_is_whole():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert [(int(code), meaning) for code, meaning in rows] == exits.table()


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_has_an_example(path: str, command: Any):
    own = {path, path.replace("lancespace job compact", "lancespace compact"), path.replace("job import", "import")}

    assert any(one in command.help.partition("Example: ")[2] for one in own)


def test_every_group_is_in_the_guide():
    listed = set(
        re.findall(r"`(\w[\w-]*)(?: …)?`", PAGE.read_text().partition("## The commands")[2].partition("##")[0])
    )

    assert {path.split()[1] for path, _ in ALL} <= listed

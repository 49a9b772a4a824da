"""The guide says what the command does; every command says how it is called."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from lancespace_cli import exits
from lancespace_cli.plugins import SUMMARIES
from plugins.cli.tests.every import ALL, ROOT
from plugins.cli.tests.terminals import Terminal
from tests.docs.pages import DOCS, name
from tools.record import steps, write_files

if TYPE_CHECKING:
    from plugins.cli.tests.terminals import Driver

PAGE = DOCS / "guide" / "cli.md"
TOURS = [PAGE, DOCS / "tour.md"]
COLUMNS = 100
VARYING = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00|[0-9a-f]{8}_|[0-9a-f]{32}|total_bytes +\d+|\d{3,} bytes")


def settled(text: str) -> str:
    """Without times, random names, and spaces at the ends of lines."""
    lines = re.sub(r"/\S+/lake", "lake", text.strip()).splitlines()
    return "\n".join(VARYING.sub("…", line).rstrip() for line in lines)


@pytest.mark.parametrize("page", TOURS, ids=name)
def test_the_tour_is_real(driver: Driver, tmp_path: Path, page: Path):
    """Of our own commands; tests/packaging runs the others as well."""
    write_files(tmp_path, page)
    terminal = Terminal(driver, tmp_path, columns=COLUMNS, LANCESPACE_ROOT="lake")

    for step in steps(page):
        program, *arguments = shlex.split(step.command)
        if program == "lancespace":
            assert settled(terminal.run(*arguments).shown) == settled(step.printed), step.command


def test_the_table_of_exit_codes_is_whole():
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert [(int(code), meaning) for code, meaning in rows] == exits.table()


@pytest.mark.parametrize(("path", "command"), ALL.items(), ids=ALL)
def test_every_command_has_an_example(path: str, command: Any):
    names = {path, *(path.replace(f"job {name}", name) for name in ("compact", "import", "migrate"))}

    assert any(f"lancespace {one}" in command.help.partition("Example: ")[2] for one in names)


@pytest.mark.parametrize("path", ALL)
def test_every_command_is_run_in_a_terminal(path: str):
    words = r",\s*".join(f'"{word}"' for word in path.split())
    sources = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))

    assert re.search(rf"terminal\.run\(\s*{words}", sources)


def test_every_group_is_in_the_guide():
    listed = set(
        re.findall(r"`(\w[\w-]*)(?: …)?`", PAGE.read_text().partition("## The commands")[2].partition("##")[0])
    )

    assert {path.split()[0] for path in ALL} <= listed


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_help_knows_what_commands_of_other_packages_say(name: str):
    """It loads none of them."""
    found, context = ROOT, typer.Context(ROOT)
    for word in name.split("."):
        _, found, _ = found.resolve_command(context, [word])
        context = typer.Context(found, info_name=word, parent=context)

    assert found.help.partition("\n")[0] == SUMMARIES[name]

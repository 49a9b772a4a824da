"""Completion, asked as the shells ask."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.cli.tests.terminals import Terminal, environment

if TYPE_CHECKING:
    from pathlib import Path

    from plugins.cli.tests.terminals import Driver


@pytest.fixture
def shell(driver: Driver, folder: Path) -> Terminal:
    """Where no variable names a catalog."""
    return Terminal(driver, folder)


def complete(shell: Terminal, line: str, **variables: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    asked = {"_LANCESPACE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return shell.pipe(variables=asked | variables).stdout.decode().split()


@pytest.mark.usefixtures("ns")
def test_tables_of_the_catalog_that_the_line_names(shell: Terminal):
    assert complete(shell, "lancespace head --root lake sa") == ["sales."]
    assert complete(shell, "lancespace --root lake head sales.") == ["sales.orders"]
    assert complete(shell, "lancespace ls ", LANCESPACE_ROOT="lake") == ["sales"]


def test_commands_profiles_and_operations(shell: Terminal, folder: Path):
    (folder / "config.toml").write_text("[profiles.lake]\n[profiles.lab]\n[profiles.other]\n")

    assert complete(shell, "lancespace ver") == ["versions"]
    assert complete(shell, "lancespace job re") == ["refresh"]
    assert complete(shell, "lancespace --profile la", LANCESPACE_CONFIG="config.toml") == ["lab", "lake"]
    assert complete(shell, "lancespace op create_table_t") == ["create_table_tag"]
    assert complete(shell, "lancespace import t f --format p") == ["parquet"]


def test_no_catalog_is_no_error(shell: Terminal):
    assert complete(shell, "lancespace head sa") == []


def test_the_script_is_shown(folder: Path):
    called_by_bash = f"{shlex.quote(sys.executable)} -m lancespace_cli --show-completion; exit $?"

    shown = subprocess.run(
        ["bash", "-c", called_by_bash], cwd=folder, env=environment(), capture_output=True, check=False
    )

    assert (shown.returncode, b"_LANCESPACE_COMPLETE" in shown.stdout) == (0, True)

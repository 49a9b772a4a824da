"""Ctrl-C: nothing is left half done, and the exit code says what happened."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest
from pyarrow import parquet

from plugins.cli.tests.conftest import orders
from plugins.cli.tests.terminals import spawn, spawn_program

if TYPE_CHECKING:
    from pathlib import Path

    from lancespace import Namespace

CTRL_C = "\x03"
FILES = 3000


@pytest.fixture(scope="module")
def many(folder: Path) -> Path:
    """A folder of many files: its import goes on for long, and can stop after each of them."""
    made = folder / "many"
    made.mkdir()
    parquet.write_table(orders(0, 1), made / "0.parquet")
    for number in range(1, FILES):
        (made / f"{number}.parquet").hardlink_to(made / "0.parquet")
    return made


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("exists", [False, True])
def test_an_import_that_is_interrupted_leaves_the_table_as_it_was(folder: Path, ns: Namespace, exists: bool):
    name = f"sales.into_{'old' if exists else 'new'}"
    if exists:
        ns.create_table(name, orders(0, 3))
    shell = spawn("import", name, "many", folder=folder, LANCESPACE_ROOT=str(folder / "lake"))

    shell.expect(re.compile(r"\d+ rows, [\d,]+ rows/s"))
    shell.send(CTRL_C)
    shell.expect("Stopping at the next safe point")
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 130
    assert ns.table(name).exists() is exists
    if exists:
        assert ns.table(name).count() == 3
    assert "Traceback" not in shell.before


@pytest.mark.parametrize("exists", [False, True])
def test_rows_from_standard_input_are_all_in_or_none(folder: Path, ns: Namespace, exists: bool):
    name = f"sales.stream_{'old' if exists else 'new'}"
    if exists:
        ns.create_table(name, orders(0, 3))
    pipe = folder / f"{exists}.fifo"
    os.mkfifo(pipe)
    shell = spawn_with_input(pipe, "import", name, "-", "--format", "csv", folder=folder, root=folder / "lake")
    with pipe.open("wb") as writer:
        writer.write(b"id,item,price\n" + b"1,lamp,1.5\n" * 400_000)
        writer.flush()
        shell.expect(re.compile(r"[\d,]+ rows"))

        shell.send(CTRL_C)
        shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 130
    assert ns.table(name).exists() is exists
    if exists:
        assert ns.table(name).count() == 3


def spawn_with_input(pipe: Path, *arguments: str, folder: Path, root: Path) -> pexpect.spawn:
    """In a terminal, but with standard input from a pipe."""
    script = 'exec "$0" -m lancespace_cli "${@:2}" < "$1"'
    command = ["-c", script, sys.executable, str(pipe), *arguments]
    return spawn_program("/bin/bash", command, folder, LANCESPACE_ROOT=str(root))

"""Ctrl-C: nothing is left half done, and the exit code says what happened."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pexpect
import pytest
from pyarrow import parquet

from lancespace_dir.checks import ORPHAN_DIRECTORY, ORPHAN_TABLE, check
from lancespace_testing.waiting import until
from plugins.cli.tests.conftest import orders
from plugins.cli.tests.terminals import piped, spawn, spawn_program

if TYPE_CHECKING:
    from lancespace import Namespace

CTRL_C = "\x03"
FILES = 20_000
FRAGMENTS = 1_000


@pytest.fixture(scope="module")
def many(folder: Path) -> Path:
    """A folder of many files: its import goes on for long, and can stop after each of them."""
    made = folder / "many"
    made.mkdir()
    parquet.write_table(orders(0, 1), made / "0.parquet")
    for number in range(1, FILES):
        (made / f"{number}.parquet").hardlink_to(made / "0.parquet")
    return made


@pytest.fixture(scope="module")
def large(ns: Namespace) -> Path:
    """Where `sales.large` is, whose rows are enough to be long at work on."""
    ns.create_table("sales.large", orders(0, 1_000_000))
    return Path(str(ns.describe_table("sales.large").location))


def interrupt(shell: pexpect.spawn) -> None:
    """Press Ctrl-C while a job shows how far it is; it stops by itself."""
    shell.expect(re.compile(r"\d+ rows, [\d,]+ rows/s"))
    shell.send(CTRL_C)
    shell.expect("Stopping at the next safe point")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 130


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("exists", [False, True])
def test_an_import_that_is_interrupted_leaves_the_table_as_it_was(folder: Path, ns: Namespace, exists: bool):
    name = f"sales.into_{'old' if exists else 'new'}"
    if exists:
        ns.create_table(name, orders(0, 3))
    shell = spawn("import", name, "many", folder=folder, LANCESPACE_ROOT=str(folder / "lake"))

    interrupt(shell)

    assert ns.table(name).exists() is exists
    if exists:
        assert ns.table(name).count() == 3
    assert "Traceback" not in shell.before
    assert orphans(ns) == []


@pytest.mark.usefixtures("many")
def test_who_waits_for_the_job_of_another_process_cancels_it(folder: Path, ns: Namespace):
    root = str(folder / "lake")
    started = piped("import", "sales.far", "many", "--no-wait", "--root", root, folder=folder)
    job = started.stdout.decode().strip()
    shell = spawn("jobs", "wait", job, folder=folder, LANCESPACE_ROOT=root)

    shell.expect(job)
    shell.send(CTRL_C)
    shell.expect("Stopping at the next safe point")
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 130
    assert ns.describe_transaction([job]).status == "CANCELED"
    until(lambda: ns.table("sales.far").exists(), lambda exists: not exists)


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


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("options", [[], ["--rows-per-file", "20000"]], ids=["file", "folder"])
def test_an_export_that_is_interrupted_leaves_no_file(folder: Path, options: list[str]):
    before = set(folder.iterdir())
    command = ["export", "sales.large", "out.jsonl", "--format", "json", *options]
    shell = spawn(*command, folder=folder, LANCESPACE_ROOT=str(folder / "lake"))

    shell.expect(re.compile(r"\d\d\d,\d\d\d rows"))  # Some files of the folder are whole by then.
    shell.send(CTRL_C)
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 130
    assert set(folder.iterdir()) == before
    assert "Traceback" not in shell.before


def test_a_copy_that_is_interrupted_leaves_the_name_declared_for_a_repeat(folder: Path, ns: Namespace):
    lance.write_dataset(orders(0, FRAGMENTS), folder / "lake" / "pieces.lance", max_rows_per_file=1)
    shell = spawn("job", "copy", "pieces", "sales.copy", folder=folder, LANCESPACE_ROOT=str(folder / "lake"))

    interrupt(shell)

    assert ns.describe_table("sales.copy", check_declared=True).is_only_declared
    assert ns.table("pieces").count() == FRAGMENTS
    assert "Traceback" not in shell.before
    assert orphans(ns) == []


def test_an_index_that_is_interrupted_is_not_there(folder: Path, ns: Namespace, large: Path):
    before = ns.table("sales.large").dataset().version
    command = ["index", "create", "sales.large", "item", "FTS"]
    shell = spawn(*command, folder=folder, LANCESPACE_ROOT=str(folder / "lake"))

    until(lambda: has_open(shell.pid, large / "data"), bool)
    shell.send(CTRL_C)
    shell.expect(pexpect.EOF)
    shell.close()

    assert shell.exitstatus == 130
    assert ns.list_table_indices("sales.large").indexes == []
    assert ns.table("sales.large").dataset().version == before
    assert "Traceback" not in shell.before


def has_open(process: int, folder: Path) -> bool:
    """Whether a process reads a file of a folder."""
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # It was closed meanwhile.
            if descriptor.readlink().is_relative_to(folder):
                return True
    return False


def orphans(ns: Namespace) -> list[str]:
    """Directories of tables that the catalog does not name."""
    found = check(ns, older_than=timedelta(0))
    return [one.subject for one in found if one.kind in {ORPHAN_DIRECTORY, ORPHAN_TABLE}]


def spawn_with_input(pipe: Path, *arguments: str, folder: Path, root: Path) -> pexpect.spawn:
    """In a terminal, but with standard input from a pipe."""
    script = 'exec "$0" -m lancespace_cli "${@:2}" < "$1"'
    command = ["-c", script, sys.executable, str(pipe), *arguments]
    return spawn_program("/bin/bash", command, folder, LANCESPACE_ROOT=str(root))

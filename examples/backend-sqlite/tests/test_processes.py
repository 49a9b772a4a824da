"""What the suite cannot see: several processes on one file, and a file that is busy."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lance_namespace import ServiceUnavailableError, TableAlreadyExistsError

from lance_catalog_sqlite import database
from lancespace import Namespace, connect

PROCESSES, TABLES = 2, 10


def open_catalog(folder: str) -> Namespace:
    return connect("sqlite", {"database": f"{folder}/catalog.sqlite", "root": f"{folder}/tables"})


def declare_all(folder: str) -> int:
    """Declare the same tables as the other processes, from a catalog that is not there yet; how many this one got."""
    won = 0
    with open_catalog(folder) as namespace:
        for number in range(TABLES):
            try:
                namespace.declare_table(f"t{number}")
                won += 1
            except TableAlreadyExistsError:
                continue
    return won


def test_each_name_goes_to_one_process(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        won = pool.map(declare_all, [str(tmp_path)] * PROCESSES, chunksize=1)

    assert sum(won) == TABLES
    with open_catalog(str(tmp_path)) as namespace:
        assert list(namespace.tables()) == sorted(f"t{number}" for number in range(TABLES))
    assert [path.name for path in tmp_path.iterdir()] == ["catalog.sqlite"]


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A catalog with one table, that waits for nobody."""
    made = open_catalog(str(tmp_path))
    made.declare_table("orders")
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0)
    return made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else who has the file open."""
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)) as connection:
        yield connection


def test_who_writes_keeps_writers_away_and_no_readers(namespace: Namespace, other: sqlite3.Connection) -> None:
    other.execute("BEGIN IMMEDIATE")

    assert list(namespace.tables()) == ["orders"]
    with pytest.raises(ServiceUnavailableError, match=r"catalog\.sqlite' cannot be used: database is locked"):
        namespace.declare_table("invoices")

    other.execute("ROLLBACK")
    assert list(namespace.tables()) == ["orders"]


def test_who_reads_keeps_nobody_away(namespace: Namespace, other: sqlite3.Connection) -> None:
    other.execute("BEGIN")
    before = other.execute("SELECT id FROM entries").fetchall()

    namespace.declare_table("invoices")

    assert list(namespace.tables()) == ["invoices", "orders"]
    assert other.execute("SELECT id FROM entries").fetchall() == before

"""What the suite cannot see: several processes on one file, and a file that is busy."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from lance_namespace import ServiceUnavailableError, TableAlreadyExistsError

from lance_catalog_sqlite import database
from lancespace import Namespace, connect

PROCESSES, TABLES = 3, 10


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


def test_a_busy_file_can_be_read_and_refuses_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = open_catalog(str(tmp_path))
    namespace.declare_table("orders")
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0)

    with closing(sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert list(namespace.tables()) == ["orders"]
        with pytest.raises(ServiceUnavailableError, match=r"catalog\.sqlite' cannot be used: database is locked"):
            namespace.declare_table("invoices")
        other.execute("ROLLBACK")

    assert list(namespace.tables()) == ["orders"]

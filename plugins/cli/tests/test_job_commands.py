"""job … and jobs …, in a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import lance
from pyarrow import parquet

from plugins.cli.tests.conftest import orders
from plugins.cli.tests.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from lancespace import Namespace
    from plugins.cli.tests.terminals import Driver


def test_jobs_that_change_rows(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.work", orders(0, 10))

    updated = terminal.run(
        "job", "update", "sales.work", "--set", "price=price + 1", "--where", "id < 4", "--json", "--quiet"
    )
    assert json.loads(updated.text)["rows"] == 4
    assert terminal.run("job", "delete", "sales.work", "--where", "id >= 8", "--dry-run").lines == [
        "Would delete 2 rows of sales.work."
    ]
    assert terminal.run("job", "delete", "sales.work", "--where", "id >= 8", answer="n").code == 1
    assert terminal.run("job", "delete", "sales.work", "--where", "id >= 8", answer="y").code == 0
    assert ns.table("sales.work").to_arrow()["price"].to_pylist()[-4:] == [1.0, 2.5, 4.0, 5.5]
    assert terminal.run("job", "update", "sales.work", "--set", "nothing=1").code == 22


def test_jobs_that_keep_tables_in_order(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.kept", orders(0, 4))
    ns.insert_into_table("sales.kept", orders(4, 8))

    assert terminal.run("job", "compact", "sales.kept").code == 0
    assert terminal.run("job", "index", "sales.kept", "id", "BTREE").code == 0
    assert len(ns.list_table_indices("sales.kept").indexes) == 1
    assert terminal.run("job", "clean-up", "sales.kept", "--older-than", "1d", "--dry-run").lines == [
        "Would delete 0 versions of sales.kept."
    ]
    before = {one.version for one in ns.list_table_versions("sales.kept").versions}
    said = terminal.run("job", "clean-up", "sales.kept", "--older-than", "0s", "--dry-run", "--json")
    assert terminal.run("job", "clean-up", "sales.kept", "--older-than", "0s", "--yes").code == 0
    after = {one.version for one in ns.list_table_versions("sales.kept").versions}
    assert (before - after, len(after)) == (set(json.loads(said.text)["would_delete"]), 1)
    assert terminal.run("job", "clean-up", "sales.kept", "--older-than", "soon").code == 2
    assert terminal.run("job", "maintain", "--dry-run").text.endswith(" tables, and delete 0 versions.\n")
    assert terminal.run("job", "maintain", "sales", answer="y").code == 0


def test_a_compaction_can_be_bounded(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.small", orders(0, 2))
    for start in range(2, 12, 2):
        ns.insert_into_table("sales.small", orders(start, start + 2))

    assert terminal.run("job", "compact", "sales.small", "--target-rows", "4", "--max-tasks", "1").code == 0
    assert len(ns.table("sales.small").dataset().get_fragments()) == 5


def test_migration_is_among_the_jobs(terminal: Terminal, folder: Path):
    lance.write_dataset(orders(0, 2), folder / "old" / "one.lance")

    assert terminal.run("job", "migrate", "--root", "old").lines[-1] == "migrate: 1 table"
    job = terminal.pipe("job", "migrate", "--root", "old", "--no-wait").stdout.decode().strip()
    assert terminal.run("jobs", "wait", job, "--root", "old").code == 0


def test_jobs_that_bring_rows(terminal: Terminal, folder: Path):
    parquet.write_table(orders(0, 5), folder / "five.parquet")

    assert terminal.run("job", "import", "sales.five", "five.parquet").code == 0
    assert terminal.run("job", "copy", "sales.five", "sales.copy").lines[-1].endswith("5 rows")
    assert terminal.run("job", "copy", "sales.five", "five", "--to-root", "backup").code == 0
    assert terminal.run("count", "five", "--root", "backup").text == "5\n"
    assert terminal.run("job", "copy", "sales.five", "sales.copy").code == 15


def test_an_import_from_spark_says_what_it_needs(driver: Driver, folder: Path, ns: Namespace):
    """What it does is told by the tests of lancespace-spark, which have a cluster."""
    root = str(folder / "lake")
    terminal = Terminal(driver, folder, columns=200, LANCESPACE_ROOT=root, LANCESPACE_PLUGINS="lancespace-dir")
    refused = terminal.run("job", "import-spark", "sales.new", "old")

    assert refused.code == 10
    assert "job import-spark needs" in refused.text
    assert 'pip install "lancespace[spark]"' in refused.text
    assert not ns.table("sales.new").exists()


def test_jobs_of_operations(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.filled", orders(0, 5))
    ns.alter_table_add_columns("sales.filled", new_columns=[{"name": "gross", "computed": "price * 2"}])

    assert terminal.run("job", "backfill", "sales.filled", "gross").code == 0
    assert ns.table("sales.filled").count("gross = price * 2") == 5
    assert terminal.run("job", "backfill", "sales.filled", "item").code == 23
    assert terminal.run("job", "refresh", "sales.filled").code != 0


def test_a_job_in_the_background_is_listed_waited_for_and_told(ns: Namespace, terminal: Terminal):
    ns.create_table("sales.far", orders(0, 2))
    ns.insert_into_table("sales.far", orders(2, 4))

    started = terminal.pipe("compact", "sales.far", "--no-wait")
    job = started.stdout.decode().strip()

    assert (started.returncode, len(job)) == (0, 32)
    assert terminal.run("jobs", "wait", job).code == 0
    assert len(ns.table("sales.far").dataset().get_fragments()) == 1
    assert dict(line.split(maxsplit=1) for line in terminal.run("jobs", "describe", job).lines)["status"] == "SUCCEEDED"
    listed = json.loads(terminal.run("jobs", "list", "--json", "-n", "50").text)
    assert [row["about"] for row in listed if row["job"] == job] == ["sales.far"]
    assert terminal.run("jobs", "cancel", job).lines[-1].startswith(f"{job}: SUCCEEDED")
    assert terminal.run("jobs", "describe", "0" * 32).code == 20
    failed = terminal.pipe("compact", "sales.nowhere", "--no-wait")
    assert (failed.returncode, failed.stdout) == (14, b"")
    assert b"Table not found" in failed.stderr


def test_what_keeps_no_records_says_so(terminal: Terminal):
    assert terminal.run("jobs", "list", "--backend", "memory").code == 10

"""The jobs of a catalog, computed on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lancespace_dir
import lancespace_jobs as jobs
from lancespace import connect
from lancespace.authoring import JobState
from lancespace_jobs import JobFailedError
from lancespace_jobs import _maintenance as cleanup
from lancespace_spark import sql, upsert
from lancespace_tables import virtual_column
from lancespace_testing.waiting import until
from lancespace_views import _requests as building
from plugins.spark.tests.data import TABLE, files, fill, ids, orders, used, versions
from plugins.spark.tests.jobs import ended, on_spark, succeeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace


@pytest.fixture
def catalog(spark: SparkSession, ns: Namespace, root: str) -> Iterator[Namespace]:
    """The catalog of the test, with the engine of the cluster, and a table of four fragments."""
    fill(ns)
    with on_spark(spark, root) as namespace:
        yield namespace


def test_backfill_with_sql_and_with_a_function(catalog: Namespace) -> None:
    def process(batch: pa.RecordBatch) -> pa.Array:
        import os

        return pa.array([os.getpid()] * batch.num_rows, pa.int64())

    function = virtual_column(process, inputs=["id"], outputs={"pid": pa.int64()})
    catalog.alter_table_add_columns(TABLE, new_columns=[function, {"name": "twice", "computed": "id * 2"}])
    succeeded(catalog, catalog.alter_table_backfill_columns(TABLE, column="twice").job_id)
    assert catalog.table(TABLE).count("twice = 2 * id") == 40
    properties = succeeded(catalog, catalog.alter_table_backfill_columns(TABLE, column="pid").job_id)
    assert (properties["kind"], properties["fraction"], properties["rows"]) == ("backfill", "1.000", "40")
    rows = catalog.table(TABLE).to_arrow(columns=["id", "pid"]).to_pylist()
    assert None not in {row["pid"] for row in rows}
    assert os.getpid() not in {row["pid"] for row in rows}


def test_a_relative_root_is_below_the_folder_of_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors are in folders of their own."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(orders(0, 10), tmp_path / "rows.parquet")
    with on_spark(spark, "lake") as catalog:
        jobs.import_files(catalog, "orders", str(tmp_path / "rows.parquet")).wait()
        upsert(
            spark, catalog, "orders", spark.range(5, 15).selectExpr("id", "'x' AS name", "array(0F, 0F) AS v"), ["id"]
        )
        assert ids(catalog, "orders") == list(range(15))
        assert sql(spark, catalog, "SELECT count(name) FROM orders WHERE name = 'x'").first() == (10,)


def test_functions_run_only_where_they_are_allowed(spark: SparkSession, catalog: Namespace, root: str) -> None:
    from lance_namespace import PermissionDeniedError

    entry = virtual_column(lambda batch: batch.column("id"), inputs=["id"], outputs={"same": pa.int64()})
    catalog.alter_table_add_columns(TABLE, new_columns=[entry])
    with on_spark(spark, root, **{"udf.enabled": "false"}) as strict, pytest.raises(PermissionDeniedError):
        strict.alter_table_backfill_columns(TABLE, column="same")


def test_views_of_every_kind_are_refreshed_whole_and_then_by_what_is_new(catalog: Namespace) -> None:
    def halves(number: int) -> list[dict[str, int]]:
        return [{"half": number // 2}, {"half": -number}]

    def totals(table: pa.Table) -> pa.Table:
        import pyarrow.compute as pc

        return pa.table({"total": [pc.sum(table["id"]).as_py()]})

    number = pa.schema([("id", pa.int64())])
    views = {
        "sales.even": building.query_view(f"SELECT id FROM {TABLE} WHERE id % 2 = 0", number),
        "sales.halves": building.chunker(
            halves, f"SELECT id FROM {TABLE}", pa.schema([("half", pa.int64())]), input_columns=["id"]
        ),
        "sales.totals": building.udtf(totals, f"SELECT id FROM {TABLE}", pa.schema([("total", pa.int64())])),
    }
    for stop in (40, 50):
        for view, fields in views.items():
            if stop == 40:
                catalog.create_materialized_view(view, **fields)
            succeeded(catalog, catalog.refresh_materialized_view(view).job_id)
        assert ids(catalog, "sales.even") == list(range(0, stop, 2))
        expected = sorted([n // 2 for n in range(stop)] + [-n for n in range(stop)])
        assert sorted(catalog.table("sales.halves").to_arrow()["half"].to_pylist()) == expected
        assert catalog.table("sales.totals").to_arrow()["total"].to_pylist() == [sum(range(stop))]
        catalog.insert_into_table(TABLE, orders(40, 50))


def test_indexes_are_built_in_segments(catalog: Namespace) -> None:
    floats = pa.array(np.random.default_rng(1).random(600 * 8, np.float32))
    rows = pa.table(
        {"id": range(600), "text": [f"w{n}" for n in range(600)], "v": pa.FixedSizeListArray.from_arrays(floats, 8)}
    )
    catalog.create_table("sales.many", rows.slice(0, 300))
    catalog.insert_into_table("sales.many", rows.slice(300))
    wanted: dict[str, tuple[str, dict[str, Any]]] = {
        "BTREE": ("id", {}),
        "FTS": ("text", {}),
        "IVF_PQ": ("v", {"num_partitions": 2, "num_sub_vectors": 2}),
    }
    running = [
        jobs.build_index(catalog, "sales.many", column, kind, segment_rows=300, **options)
        for kind, (column, options) in wanted.items()
    ]
    for job in running:
        job.wait()
    indexes = {index.name: index for index in catalog.table("sales.many").dataset().describe_indices()}
    assert {name: len(index.segments) for name, index in indexes.items()} == {"id_idx": 2, "text_idx": 2, "v_idx": 2}
    near = catalog.table("sales.many").to_arrow(
        vector=rows["v"][450].as_py(), k=1, refine_factor=20, nprobes=2, columns=["id"]
    )
    assert near["id"].to_pylist() == [450]
    assert catalog.table("sales.many").to_arrow(full_text_query="w77", columns=["id"])["id"].to_pylist() == [77]


def test_updates_deletes_compaction_and_clean_up(catalog: Namespace) -> None:
    jobs.update_rows(catalog, TABLE, {"name": "'x'"}, where="id % 10 = 0").wait()
    jobs.delete_rows(catalog, TABLE, "id % 10 = 1").wait()
    jobs.compact(catalog, TABLE).wait()
    jobs.clean_up(catalog, TABLE, older_than=timedelta(0), is_quiet=True).wait()
    assert ids(catalog) == [number for number in range(40) if number % 10 != 1]
    assert catalog.table(TABLE).count("name = 'x'") == 4
    assert len(catalog.table(TABLE).dataset().get_fragments()) == 1
    assert files(catalog) == used(catalog)


def test_a_clean_up_in_slices(catalog: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "SLICE", 1)
    jobs.clean_up(catalog, TABLE, older_than=timedelta(0)).wait()
    assert (versions(catalog), ids(catalog)) == ([4], list(range(40)))


def test_maintenance_of_a_catalog(catalog: Namespace) -> None:
    fill(catalog, fragments=3, table="sales.other")
    jobs.maintain(catalog, older_than=timedelta(0)).wait()
    for table in (TABLE, "sales.other"):
        assert len(catalog.table(table).dataset().get_fragments()) == 1
        assert len(versions(catalog, table)) == 1


def test_a_directory_catalog_is_migrated(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        lance.write_dataset(orders(0, 1), tmp_path / "v1" / f"t{number}.lance")
    with on_spark(spark, str(tmp_path / "v1")) as namespace:
        done = succeeded(namespace, lancespace_dir.migrate(namespace).id)
    assert (done["kind"], done["rows"]) == ("migrate", "3")
    with connect("dir", {"root": str(tmp_path / "v1"), "dir_listing_enabled": "false"}) as strict:
        assert list(strict.tables()) == ["t0", "t1", "t2"]


def test_files_are_imported_and_tables_copied(catalog: Namespace, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(orders(number * 10, number * 10 + 10).drop(["v"]), tmp_path / "in" / f"{number}.parquet")
    jobs.import_files(catalog, "sales.imported", str(tmp_path / "in")).wait()
    assert ids(catalog, "sales.imported") == list(range(30))
    with connect("dir", {"root": str(tmp_path / "other")}) as other:
        jobs.copy_table(catalog, TABLE, other, "copy").wait()
        assert ids(other, "copy") == list(range(40))
        assert versions(other, "copy") == [1]


def test_a_job_is_followed_cancelled_and_resumed(catalog: Namespace, root: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    def slow(batch: pa.RecordBatch) -> pa.Array:
        """The first fragments are quick; the last waits for a file, so that the job can be met on its way."""
        import time

        deadline = time.monotonic() + 60
        while batch.column("id")[0].as_py() >= 30 and not gate.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return batch.column("id")

    catalog.alter_table_add_columns(
        TABLE, new_columns=[virtual_column(slow, inputs=["id"], outputs={"same": pa.int64()})]
    )
    job = catalog.alter_table_backfill_columns(TABLE, column="same").job_id
    assert job is not None
    seen = until(
        lambda: catalog.describe_transaction(job).properties or {}, lambda found: float(found["fraction"]) >= 0.5
    )
    assert seen["message"] == "filling same in 4 fragments"
    catalog.alter_transaction(job, actions=[{"setStatusAction": {"status": "Canceled"}}])
    gate.touch()
    assert ended(catalog, job).status == JobState.CANCELED.value
    assert catalog.table(TABLE).count("same IS NOT NULL") == 0
    kept = list(Path(root, "__jobs", "checkpoints").rglob("*.json"))
    assert len(kept) >= 2
    succeeded(catalog, catalog.alter_table_backfill_columns(TABLE, column="same").job_id)
    assert catalog.table(TABLE).count("same = id") == 40


def test_what_a_task_raises_is_what_the_job_says(catalog: Namespace, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    with pytest.raises(JobFailedError, match=r"import .*bad\.parquet"):
        jobs.import_files(catalog, TABLE, str(tmp_path / "bad.parquet")).wait()

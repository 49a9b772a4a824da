"""A step with a key works on the rows of its source that were added or changed, wherever they are by now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lancespace_jobs as jobs
from plugins.spark.tests.pipelines import INGEST, Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace

STEPS = (
    INGEST
    + """
[[step]]
name = "clean"
kind = "clean"
from = "raw.orders"
into = "shop.orders"
sql = "SELECT id, item FROM source"
key = ["id"]

[[step]]
name = "behind"
kind = "transform"
from = "shop.orders"
into = "shop.upper"
sql = "SELECT id, upper(item) AS item FROM source"
key = ["id"]
"""
)


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    """Ten orders, that have gone through all steps."""
    assert spark.version
    folder = Folder(tmp_path)
    folder.write("mon", *(f"{number},lamp" for number in range(10)))
    assert folder.run(STEPS)["behind"] == ("first run", 10)
    return folder


def items(folder: Folder) -> dict[object, object]:
    return {row["id"]: row["item"] for row in folder.rows("shop.upper")}


def upserted(namespace: Namespace, **items: str) -> None:
    rows = pa.table({"id": [int(name[1:]) for name in items], "item": list(items.values())})
    namespace.merge_insert_into_table(
        "shop.orders", rows, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True
    )


def compacted(namespace: Namespace) -> None:
    jobs.compact(namespace, "shop.orders").wait()


def test_a_step_behind_an_upsert_works_on_what_that_changed(folder: Folder) -> None:
    folder.write("tue", "3,desk", "10,bench")
    assert folder.run(STEPS) == {"ingest": ("new data", 2), "clean": ("new data", 2), "behind": ("new data", 2)}
    assert items(folder) == {**dict.fromkeys(range(10), "LAMP"), 3: "DESK", 10: "BENCH"}
    assert folder.run(STEPS)["behind"] == ("up to date", 0)


def twice(namespace: Namespace) -> None:
    upserted(namespace, _3="first", _4="desk")
    upserted(namespace, _3="second", _11="bench")


def compacted_before(namespace: Namespace) -> None:
    namespace.insert_into_table("shop.orders", pa.table({"id": [11], "item": ["bench"]}))
    compacted(namespace)
    namespace.update_table("shop.orders", predicate="id = 4", updates=[["item", "'desk'"]])


def compacted_together(namespace: Namespace) -> None:
    upserted(namespace, _4="desk")
    compacted(namespace)


def deleted(namespace: Namespace) -> None:
    namespace.delete_from_table("shop.orders", predicate="id = 4")
    upserted(namespace, _5="desk")


def restored(namespace: Namespace) -> None:
    upserted(namespace, _4="desk")
    namespace.restore_table("shop.orders", version=namespace.table("shop.orders").dataset().version - 1)


def cleaned_up(namespace: Namespace) -> None:
    upserted(namespace, _4="first")
    upserted(namespace, _4="desk")
    jobs.clean_up(namespace, "shop.orders", older_than=timedelta(0)).wait()


def only_deleted(namespace: Namespace) -> None:
    namespace.delete_from_table("shop.orders", predicate="id = 4")


ALL_LAMPS = dict.fromkeys(range(10), "LAMP")
CHANGES: dict[str, tuple[Callable[[Namespace], None], int, dict[int, str]]] = {
    "a key twice": (twice, 3, {3: "SECOND", 4: "DESK", 11: "BENCH"}),
    "compaction of both": (compacted_together, 10, {4: "DESK"}),
    "compaction between": (compacted_before, 11, {4: "DESK", 11: "BENCH"}),
    "a delete": (deleted, 1, {5: "DESK"}),
    "only a delete": (only_deleted, 0, {}),
    "a restore": (restored, 10, {}),
    "a clean-up": (cleaned_up, 10, {4: "DESK"}),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_others_did_between_runs(folder: Folder, case: str) -> None:
    change, rows, expected = CHANGES[case]
    with folder.namespace() as namespace:
        change(namespace)
    assert folder.run(STEPS)["behind"] == ("new data", rows)
    assert items(folder) == {**ALL_LAMPS, **expected}

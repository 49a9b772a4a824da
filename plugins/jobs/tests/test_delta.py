"""Delta tables: what is imported of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lance_namespace import InvalidInputError

import lancespace_jobs as jobs
from plugins.jobs.tests.support import TABLE, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace

VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The folder of a Delta table, with three files of ten rows; its log is up to the test."""
    for number in range(3):
        write(tmp_path / "in" / f"part {number}.parquet", rows(number * 10, number * 10 + 10))
    return tmp_path / "in"


def write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def log(table: Path, version: int, *actions: dict[str, Any]) -> None:
    folder = table / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def checkpoint(table: Path, name: str, *paths: str) -> None:
    added = [{"path": path} for path in paths]
    write(table / "_delta_log" / name, pa.table({"add": [*added, None]}))


def add(number: int, **more: Any) -> dict[str, Any]:
    return {"add": {"path": f"part%20{number}.parquet", **more}}


def remove(number: int, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": f"part%20{number}.parquet", **more}}


def schema(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"metaData": {"schemaString": json.dumps({"type": "struct", "fields": fields})}}


def test_only_the_latest_version_is_imported(ns: Namespace, table: Path) -> None:
    log(table, 0, schema(id="long", name="string"), add(0))
    log(table, 1, remove(0), add(1))
    log(table, 2, add(2))
    jobs.import_files(ns, TABLE, str(table)).wait()
    assert ids(ns) == list(range(10, 30))


@pytest.mark.parametrize("hint", [None, 3, 7])
def test_a_checkpoint_stands_for_what_was_before_it_whatever_the_hint_says(
    ns: Namespace, table: Path, hint: int | None
) -> None:
    log(table, 0, add(2))  # A log that is older than the checkpoint.
    checkpoint(table, f"{3:020}.checkpoint.parquet", "part%202.parquet")
    checkpoint(table, f"{7:020}.checkpoint.parquet", "part%200.parquet", "part%201.parquet")
    checkpoint(table, f"{9:020}.checkpoint.{1:010}.{2:010}.parquet", "part%202.parquet")  # Its other part is missing.
    if hint is not None:
        (table / "_delta_log" / "_last_checkpoint").write_text(json.dumps({"version": hint}))
    log(table, 8, remove(1))
    jobs.import_files(ns, TABLE, str(table)).wait()
    assert ids(ns) == list(range(10))


def test_a_checkpoint_may_have_several_parts(ns: Namespace, table: Path) -> None:
    for part, path in enumerate(("part%200.parquet", "part%201.parquet"), 1):
        checkpoint(table, f"{7:020}.checkpoint.{part:010}.{2:010}.parquet", path)
    jobs.import_files(ns, TABLE, str(table)).wait()
    assert ids(ns) == list(range(20))


def test_a_log_with_gaps_is_refused(ns: Namespace, table: Path) -> None:
    log(table, 1, add(0))
    with pytest.raises(InvalidInputError, match="lacks version 0"):
        jobs.import_files(ns, TABLE, str(table))
    log(table, 0, add(1))
    log(table, 3, add(2))
    with pytest.raises(InvalidInputError, match="lacks version 2"):
        jobs.import_files(ns, TABLE, str(table))


def test_deletion_vectors_are_refused_as_long_as_they_count(ns: Namespace, table: Path) -> None:
    log(table, 0, add(0))
    log(table, 1, remove(0), add(0, deletionVector=VECTOR))
    with pytest.raises(InvalidInputError, match="has deletion vectors"):
        jobs.import_files(ns, TABLE, str(table))
    log(table, 2, remove(0, deletionVector=VECTOR), add(1))
    jobs.import_files(ns, TABLE, str(table)).wait()
    assert ids(ns) == list(range(10, 20))


def test_column_mapping_is_refused(ns: Namespace, table: Path) -> None:
    log(table, 0, {"metaData": {"configuration": {"delta.columnMapping.mode": "name"}}}, add(0))
    with pytest.raises(InvalidInputError, match="has column mapping"):
        jobs.import_files(ns, TABLE, str(table))


def test_files_that_are_elsewhere_or_gone_are_told(ns: Namespace, table: Path, tmp_path: Path) -> None:
    log(table, 0, {"add": {"path": f"file://{tmp_path}/else/a.parquet"}})
    with pytest.raises(InvalidInputError, match="which is not in its folder"):
        jobs.import_files(ns, TABLE, str(table))
    log(table, 0, add(7))
    with pytest.raises(InvalidInputError, match="which is gone"):
        jobs.import_files(ns, TABLE, str(table))


@pytest.mark.parametrize("depth", ["", "deeper/"])
def test_a_folder_above_a_delta_table_is_refused(ns: Namespace, tmp_path: Path, depth: str) -> None:
    write(tmp_path / f"above/{depth}t/part 0.parquet", rows(0, 10))
    log(tmp_path / f"above/{depth}t", 0, add(0))
    with pytest.raises(InvalidInputError, match=f"holds the Delta table .*above/{depth}t"):
        jobs.import_files(ns, TABLE, str(tmp_path / "above"))


def test_columns_have_the_types_of_the_table_and_partitions_the_values_of_the_log(
    ns: Namespace, tmp_path: Path
) -> None:
    table = tmp_path / "in"
    write(table / "zip=01234" / "part 0.parquet", pa.table({"id": pa.array([1], pa.int32())}))
    write(table / "xy" / "part 1.parquet", pa.table({"id": [2], "extra": ["x"]}))
    kinds = {
        "id": "long",
        "zip": "string",
        "day": "date",
        "at": "timestamp",
        "price": "decimal(5,2)",
        "extra": "string",
    }
    first = {"zip": "01234", "day": "2024-01-31", "at": "2024-01-31 10:00:00", "price": "1.50"}
    second = {"zip": None, "day": "2024-02-01", "at": "2024-01-31T10:00:00.000000Z", "price": ""}
    log(
        table,
        0,
        schema(**kinds),
        {"add": {"path": "zip=01234/part%200.parquet", "partitionValues": first}},
    )
    log(table, 1, {"add": {"path": "xy/part%201.parquet", "partitionValues": second}})
    jobs.import_files(ns, TABLE, str(table)).wait()
    found = ns.table(TABLE).to_arrow().sort_by("id")
    assert [str(one) for one in found.schema.types] == [
        "int64", "string", "date32[day]", "timestamp[us, tz=UTC]", "decimal128(5, 2)", "string",
    ]  # fmt: skip
    assert found["zip"].to_pylist() == ["01234", None]
    assert found["extra"].to_pylist() == [None, "x"]
    assert [str(one) for one in found["at"].to_pylist()] == ["2024-01-31 10:00:00+00:00"] * 2
    assert [str(one) for one in found["price"].to_pylist()] == ["1.50", "None"]


def test_a_type_that_is_unknown_is_refused(ns: Namespace, table: Path) -> None:
    log(table, 0, schema(id="variant"), add(0))
    with pytest.raises(InvalidInputError, match="type variant"):
        jobs.import_files(ns, TABLE, str(table))

"""Columns of imported files that do not tell their types, or have them in the names of folders."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lancespace_jobs as jobs
from lancespace_jobs import JobFailedError
from plugins.jobs.tests.support import TABLE

if TYPE_CHECKING:
    from lancespace import Namespace


def imported(ns: Namespace, *places: Path) -> pa.Table:
    jobs.import_files(ns, TABLE, [str(place) for place in places]).wait()
    return ns.table(TABLE).to_arrow().sort_by("id")


def parquet(path: Path, number: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [number]}), path)
    return path


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("", "hi", pa.string()),
        ("1", "2.5", pa.float64()),
        ("1", "x", pa.string()),
        ("007", "x", pa.string()),
        ("", "", pa.string()),
    ],
)
def test_a_column_of_csv_is_as_wide_as_all_files_need(
    ns: Namespace, tmp_path: Path, first: str, second: str, kind: pa.DataType
) -> None:
    (tmp_path / "a.csv").write_text(f"id,note\n1,{first}\n")
    (tmp_path / "b.csv").write_text(f"id,note\n2,{second}\n")
    found = imported(ns, tmp_path / "a.csv", tmp_path / "b.csv")
    assert found.schema.field("note").type == kind
    expected = [first, second] if kind == pa.string() else [1.0, 2.5]
    assert found["note"].to_pylist() == expected


def test_so_is_one_of_json(ns: Namespace, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "p": null, "s": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"id": 2, "p": 2.5, "s": 2}\n')
    found = imported(ns, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found["p"].to_pylist() == [None, 2.5]
    (tmp_path / "c.jsonl").write_text('{"id": 3, "p": 3, "s": [1]}\n')
    with pytest.raises(JobFailedError, match=r"column s is of the types .*: create the table"):
        jobs.import_files(ns, "sales.other", [str(tmp_path / "a.jsonl"), str(tmp_path / "c.jsonl")]).wait()


def test_csv_is_read_in_the_types_of_the_table(ns: Namespace, tmp_path: Path) -> None:
    ns.create_table(TABLE, pa.table({"id": [1], "zip": ["00001"]}))
    (tmp_path / "a.csv").write_text("id,zip\n2,01234\n")
    assert imported(ns, tmp_path / "a.csv")["zip"].to_pylist() == ["00001", "01234"]


def test_compressed_text_is_read(ns: Namespace, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("id\n1\n")
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"id\n2\n"))
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(b'{"id": 3}\n'))
    assert imported(ns, folder)["id"].to_pylist() == [1, 2, 3]


def test_only_folders_below_the_one_that_was_given_are_columns(ns: Namespace, tmp_path: Path) -> None:
    parquet(tmp_path / "env=prod" / "in" / "day=1" / "a.parquet", 1)
    assert imported(ns, tmp_path / "env=prod" / "in").to_pylist() == [{"id": 1, "day": 1}]


def test_a_file_that_was_given_itself_has_those_right_above_it(ns: Namespace, tmp_path: Path) -> None:
    path = parquet(tmp_path / "env=prod" / "in" / "day=1" / "hour=2" / "a.parquet", 1)
    assert imported(ns, path).to_pylist() == [{"id": 1, "day": 1, "hour": 2}]


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (("__HIVE_DEFAULT_PARTITION__", "x"), [None, "x"]),
        (("1", "x"), ["1", "x"]),
        (("007", "8"), ["007", "8"]),
        (("a%20b", "c"), ["a b", "c"]),
        (("1", "3000000000"), [1, 3000000000]),
    ],
)
def test_names_of_folders_are_numbers_if_all_of_them_are(
    ns: Namespace, tmp_path: Path, names: tuple[str, str], values: list[object]
) -> None:
    for number, name in enumerate(names):
        parquet(tmp_path / "in" / f"k={name}" / "a.parquet", number)
    assert imported(ns, tmp_path / "in")["k"].to_pylist() == values

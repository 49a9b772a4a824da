from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from lance_namespace import InvalidInputError

import lancespace_jobs as jobs
from lancespace_jobs import FOLDER, JobFailedError
from lancespace_jobs import _imports as importing
from plugins.jobs.tests.support import TABLE, files, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace


def parquet(folder: Path, name: str, table: pa.Table) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name)
    return folder / name


def test_a_folder_of_parquet_becomes_a_table_in_one_version(ns: Namespace, tmp_path: Path) -> None:
    parquet(tmp_path / "in", "a.parquet", rows(0, 10))
    parquet(tmp_path / "in" / "deeper", "b.parquet", rows(10, 30))
    parquet(tmp_path / "in" / "_temporary", "c.parquet", rows(90, 99))
    (tmp_path / "in" / "_SUCCESS").touch()
    status = jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    assert ids(ns) == list(range(30))
    assert status.rows == 30
    assert ns.table(TABLE).dataset().version == 1
    assert not any(name.startswith(FOLDER) for name in files(ns))


def test_csv_and_json(ns: Namespace, tmp_path: Path) -> None:
    pacsv.write_csv(rows(0, 5), tmp_path / "a.csv")
    lines = (json.dumps(row) for row in rows(5, 9).to_pylist())
    (tmp_path / "b.jsonl").write_text("\n".join(lines) + "\n")
    jobs.import_files(ns, TABLE, [str(tmp_path / "a.csv"), str(tmp_path / "b.jsonl")]).wait()
    assert ids(ns) == list(range(9))


def test_a_format_can_be_told(ns: Namespace, tmp_path: Path) -> None:
    pacsv.write_csv(rows(0, 5), tmp_path / "a.txt")
    with pytest.raises(InvalidInputError, match="nothing to import"):
        jobs.import_files(ns, TABLE, str(tmp_path / "a.txt"))
    with pytest.raises(InvalidInputError, match="format must be one of"):
        jobs.import_files(ns, TABLE, str(tmp_path / "a.txt"), format="excel")
    jobs.import_files(ns, TABLE, str(tmp_path / "a.txt"), format="csv").wait()
    assert ids(ns) == list(range(5))


def test_rows_are_appended_in_the_types_of_the_table_or_replace_it(ns: Namespace, tmp_path: Path) -> None:
    ns.create_table(TABLE, rows(0, 3))
    narrow = rows(3, 6).set_column(0, "id", pa.array([3, 4, 5], pa.int32()))
    path = parquet(tmp_path, "a.parquet", narrow)
    jobs.import_files(ns, TABLE, str(path)).wait()
    assert ids(ns) == list(range(6))
    assert ns.table(TABLE).dataset().schema == rows(0, 0).schema
    jobs.import_files(ns, TABLE, str(path), mode="overwrite").wait()
    assert ids(ns) == [3, 4, 5]
    assert ns.table(TABLE).dataset().schema == narrow.schema
    with pytest.raises(InvalidInputError, match="mode must be one of append, overwrite"):
        jobs.import_files(ns, TABLE, str(path), mode="merge")


def test_folders_that_name_values_are_columns(ns: Namespace, tmp_path: Path) -> None:
    table = rows(0, 6).append_column("day", pa.array([1, 1, 1, 2, 2, 2]))
    pads.write_dataset(table, tmp_path / "in", format="parquet", partitioning=["day"], partitioning_flavor="hive")
    jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    found = ns.table(TABLE).to_arrow().sort_by("id")
    assert found["day"].to_pylist() == [1, 1, 1, 2, 2, 2]


def test_a_repeat_goes_on_from_what_was_finished(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ns.create_table(TABLE, rows(0, 10))
    for number in range(1, 8):
        parquet(tmp_path / "in", f"{number}.parquet", rows(number * 10, number * 10 + 10))
    (tmp_path / "in" / "8.parquet").write_bytes(b"no Parquet")
    with pytest.raises(JobFailedError, match=r"8\.parquet"):
        jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    assert ids(ns) == list(range(10))
    parquet(tmp_path / "in", "8.parquet", rows(80, 90))
    read = reads(monkeypatch)
    jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    assert "8.parquet" in read
    assert "1.parquet" not in read
    assert ids(ns) == list(range(90))
    assert ns.table(TABLE).dataset().version == 2
    assert len(files(ns)) == 9


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that tasks read from now on."""
    real = importing.import_file
    read: list[str] = []

    def recorded(task: Any) -> Any:
        read.append(Path(task.source.path).name)
        return real(task)

    monkeypatch.setattr(importing, "import_file", recorded)
    return read


def test_a_file_that_was_changed_since_a_failure_is_read_again_also_if_it_is_as_long(
    ns: Namespace, tmp_path: Path
) -> None:
    for number in range(6):
        (tmp_path / f"{number}.csv").write_text(f"id,name\n{number},old\n")
    broken = tmp_path / "9.parquet"
    broken.write_bytes(b"no Parquet")
    given = [*map(str, sorted(tmp_path.glob("*.csv"))), str(broken)]
    with pytest.raises(JobFailedError, match=r"9\.parquet"):
        jobs.import_files(ns, TABLE, given).wait()
    (tmp_path / "0.csv").write_text("id,name\n0,new\n")
    parquet(tmp_path, "9.parquet", rows(9, 10))
    jobs.import_files(ns, TABLE, given).wait()
    assert ns.table(TABLE).to_arrow(filter="id = 0")["name"].to_pylist() == ["new"]


def test_an_overwrite_beside_other_writers_replaces_their_rows_too(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ns.create_table(TABLE, rows(0, 10))
    real = importing.import_file
    read: list[str] = []

    def late(task: Any) -> Any:
        read.append(task.source.path)
        ns.insert_into_table(TABLE, rows(10, 20))
        return real(task)

    monkeypatch.setattr(importing, "import_file", late)
    path = parquet(tmp_path, "a.parquet", rows(50, 60))
    jobs.import_files(ns, TABLE, str(path), mode="overwrite").wait()
    assert ids(ns) == list(range(50, 60))
    assert len(read) == 1


def test_an_import_whose_table_somebody_else_creates_meanwhile_appends_to_theirs(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importing.import_file
    created: list[Any] = []

    def late(task: Any) -> Any:
        if not created:
            created.append(ns.create_table(TABLE, rows(0, 10)))
        return real(task)

    monkeypatch.setattr(importing, "import_file", late)
    path = parquet(tmp_path, "a.parquet", rows(50, 60))
    jobs.import_files(ns, TABLE, str(path)).wait()
    assert ids(ns) == [*range(10), *range(50, 60)]


def test_a_column_that_must_be_there_is_missed(ns: Namespace, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("note", pa.string())])
    ns.create_table(TABLE, pa.table({"id": [1], "note": ["x"]}, schema=schema))
    without_note = parquet(tmp_path, "a.parquet", pa.table({"id": [2]}))
    jobs.import_files(ns, TABLE, str(without_note)).wait()
    assert ns.table(TABLE).to_arrow().to_pydict() == {"id": [1, 2], "note": ["x", None]}
    without_id = parquet(tmp_path, "b.parquet", pa.table({"note": ["y"]}))
    with pytest.raises(JobFailedError, match="lacks the column id"):
        jobs.import_files(ns, TABLE, str(without_id)).wait()


def test_a_column_that_the_table_lacks_is_refused(ns: Namespace, tmp_path: Path) -> None:
    ns.create_table(TABLE, rows(0, 10))
    wider = parquet(tmp_path, "a.parquet", rows(10, 20).append_column("note", pa.array(["x"] * 10)))
    with pytest.raises(JobFailedError, match="has the column note, which the table lacks: add it first"):
        jobs.import_files(ns, TABLE, str(wider)).wait()
    assert ids(ns) == list(range(10))


def test_an_import_into_a_table_that_was_dropped_begins_anew(ns: Namespace, tmp_path: Path) -> None:
    parquet(tmp_path / "in", "0.parquet", rows(0, 10))
    (tmp_path / "in" / "1.parquet").write_bytes(b"no Parquet")
    with pytest.raises(JobFailedError, match=r"1\.parquet"):
        jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    ns.drop_table(TABLE)
    parquet(tmp_path / "in", "1.parquet", rows(10, 20))
    jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    assert ids(ns) == list(range(20))


def test_an_import_goes_on_in_a_table_that_somebody_else_created_or_changed(ns: Namespace, tmp_path: Path) -> None:
    parquet(tmp_path / "in", "0.parquet", rows(0, 10))
    broken = tmp_path / "in" / "1.parquet"
    broken.write_bytes(b"no Parquet")
    with pytest.raises(JobFailedError):
        jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    ns.create_table(TABLE, rows(100, 110))
    with pytest.raises(JobFailedError):
        jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    ns.table(TABLE).dataset().add_columns(pa.field("note", pa.string()))
    parquet(tmp_path / "in", "1.parquet", rows(10, 20))
    jobs.import_files(ns, TABLE, str(tmp_path / "in")).wait()
    assert sorted(ids(ns)) == [*range(20), *range(100, 110)]
    assert ns.table(TABLE).count("note IS NULL") == 30

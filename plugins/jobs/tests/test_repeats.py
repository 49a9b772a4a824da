"""Jobs that are repeated after a failure, or run twice at once: what they share, and what they must not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow.parquet as pq
import pytest

import lancespace_jobs as jobs
from lancespace import Namespace, connect
from lancespace_jobs import FOLDER, JobFailedError, Stage, SubmittedJob
from lancespace_testing.waiting import until
from plugins.jobs.tests.support import TABLE, files, fill, ids, rows

if TYPE_CHECKING:
    from tests.emulators.clouds import Cloud

COPY = "sales.copy"
Start = Callable[[Namespace], SubmittedJob]


def delete(ns: Namespace) -> SubmittedJob:
    return jobs.delete_rows(ns, TABLE, "id < 15")


def update(ns: Namespace) -> SubmittedJob:
    return jobs.update_rows(ns, TABLE, {"id": "id + 1000"}, "id < 15")


def compact(ns: Namespace) -> SubmittedJob:
    return jobs.compact(ns, TABLE)


def index(ns: Namespace) -> SubmittedJob:
    return jobs.build_index(ns, TABLE, "id", "BTREE")


def copy(ns: Namespace) -> SubmittedJob:
    return jobs.copy_table(ns, TABLE, ns, COPY)


def backfill(ns: Namespace) -> SubmittedJob:
    if "twice" not in ns.table(TABLE).dataset().schema.names:
        ns.alter_table_add_columns(TABLE, new_columns=[{"name": "twice", "computed": "id * 2"}])
    return SubmittedJob(ns, str(ns.alter_table_backfill_columns(TABLE, column="twice").job_id))


AFTER: dict[Start, list[int]] = {
    delete: list(range(15, 40)),
    update: [*range(15, 40), *range(1000, 1015)],
    compact: list(range(40)),
    index: list(range(40)),
    backfill: list(range(40)),
    copy: list(range(40)),
}


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, target: Any, *names: str) -> Iterator[None]:
    """The last step of a job fails, as if its process had died there."""

    def die(*_: object, **__: object) -> None:
        raise OSError("died")

    with monkeypatch.context() as patched:
        for name in names:
            patched.setattr(target, name, die)
        yield


@contextmanager
def without_commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from lance.optimize import Compaction

    with (
        failing(monkeypatch, lance.LanceDataset, "commit", "commit_existing_index_segments"),
        failing(monkeypatch, Compaction, "commit"),
    ):
        yield


@pytest.mark.parametrize("start", AFTER, ids=lambda start: start.__name__)
def test_what_was_cleaned_up_since_is_done_again(ns: Namespace, monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    fill(ns)
    with without_commits(monkeypatch), pytest.raises(JobFailedError, match="died"):
        start(ns).wait()
    jobs.clean_up(ns, TABLE, older_than=timedelta(0), is_quiet=True).wait()
    start(ns).wait()
    made = COPY if start is copy else TABLE
    assert ids(ns, made) == AFTER[start]
    ns.table(made).dataset().validate()


@pytest.mark.parametrize("start", AFTER, ids=lambda start: start.__name__)
def test_another_table_of_the_same_name_is_another(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    fill(ns)
    with without_commits(monkeypatch), pytest.raises(JobFailedError, match="died"):
        start(ns).wait()
    ns.drop_table(TABLE)
    fill(ns, name="new")
    start(ns).wait()
    made = COPY if start is copy else TABLE
    assert ids(ns, made) == AFTER[start]
    assert ns.table(made).count("name LIKE 'new%'") == len(AFTER[start])
    ns.table(made).dataset().validate()


@pytest.mark.parametrize("start", [delete, update], ids=lambda start: start.__name__)
def test_equal_jobs_that_run_at_once_do_not_touch_each_others_files(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    """Both are about to commit; whoever loses takes back what it has written, and nothing else."""
    fill(ns)
    real = lance.LanceDataset.commit
    both = threading.Barrier(2, timeout=60)
    arrived: list[int] = []

    def commit(*given: Any, **options: Any) -> Any:
        arrived.append(1)
        if len(arrived) <= both.parties:
            both.wait()
        return real(*given, **options)

    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(commit))
    with connect("dir", {"root": str(tmp_path / "lake")}) as other:
        first = start(ns)
        until(lambda: len(arrived), bool)
        second = start(other)
        first.wait()
        second.wait()
    assert ids(ns) == AFTER[start]
    ns.table(TABLE).dataset().validate()


def test_an_import_that_was_committed_is_not_repeated(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process died between commit and record, with a new table and then with one that was there."""
    pq.write_table(rows(0, 10), tmp_path / "a.parquet")
    for count in (10, 20):
        with failing(monkeypatch, Stage, "discard"), pytest.raises(JobFailedError, match="died"):
            jobs.import_files(ns, TABLE, str(tmp_path / "a.parquet")).wait()
        assert len(ids(ns)) == count
        jobs.import_files(ns, TABLE, str(tmp_path / "a.parquet")).wait()
        assert len(ids(ns)) == count
        assert not any(name.startswith(FOLDER) for name in files(ns))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_nor_is_one_whose_table_was_compacted_since(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    fill(ns)
    ns.create_table_scalar_index(TABLE, column="id", index_type="BTREE")
    given = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    for number, path in enumerate(given, 10):
        pq.write_table(rows(number * 10, number * 10 + 10), path)
    with failing(monkeypatch, Stage, "discard"), pytest.raises(JobFailedError, match="died"):
        jobs.import_files(ns, TABLE, given, mode=mode).wait()
    jobs.compact(ns, TABLE).wait()
    jobs.import_files(ns, TABLE, given, mode=mode).wait()
    assert ids(ns) == [*(range(40) if mode == "append" else []), *range(100, 120)]
    jobs.import_files(ns, TABLE, given).wait()
    assert len(ids(ns)) == (80 if mode == "append" else 40)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_of_an_import_that_was_committed_only_changed_files_are_imported_again(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    given = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for number, path in enumerate(given, 1):
        path.write_text(f"id\n{number}\n")
    with failing(monkeypatch, Stage, "discard"), pytest.raises(JobFailedError, match="died"):
        jobs.import_files(ns, TABLE, [*map(str, given)], mode=mode).wait()
    given[0].write_text("id\n10\n11\n")
    jobs.import_files(ns, TABLE, [*map(str, given)], mode=mode).wait()
    assert ids(ns) == ([1, 2, 10, 11] if mode == "append" else [2, 10, 11])


def test_in_an_object_store_nothing_is_removed_that_was_committed(
    s3_cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver dies right after its commit; the next day there are other rows at the same path."""
    path = tmp_path / "today.csv"
    root = s3_cloud.new_root()
    with s3_cloud.connect(root) as ns:
        ns.create_namespace("sales")
        fill(ns, fragments=1)
        path.write_text("id,name\n100,a\n")
        with failing(monkeypatch, Stage, "discard"), pytest.raises(JobFailedError, match="died"):
            jobs.import_files(ns, TABLE, str(path)).wait()
        path.write_text("id,name\n200,b\n201,c\n")
        jobs.import_files(ns, TABLE, str(path)).wait()
        dataset = ns.table(TABLE).dataset()
        names = {file.path for one in dataset.get_fragments() for file in one.metadata.files}
        storage = s3_cloud.storage(str(ns.describe_table(TABLE).location))
        found = storage.filesystem.find(storage.path(f"{storage.location}/data"))
        assert {Path(one).name for one in found} == names
        assert ids(ns) == [*range(10), 100, 200, 201]

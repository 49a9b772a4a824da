"""Jobs that are repeated after a failure, or run twice at once: what they share, and what they must not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow.parquet as pq
import pytest

from core.tests.jobs.support import TABLE, fill, ids, rows
from lancespace import Namespace, connect, jobs
from lancespace.jobs import JobFailedError, SubmittedJob
from lancespace.jobs.stages import Stage
from lancespace.testing.waiting import until

Start = Callable[[Namespace], SubmittedJob]


def delete(ns: Namespace) -> SubmittedJob:
    return jobs.delete_rows(ns, TABLE, "id < 15")


def update(ns: Namespace) -> SubmittedJob:
    return jobs.update_rows(ns, TABLE, {"id": "id + 1000"}, "id < 15")


def compact(ns: Namespace) -> SubmittedJob:
    return jobs.compact(ns, TABLE)


def index(ns: Namespace) -> SubmittedJob:
    return jobs.build_index(ns, TABLE, "id", "BTREE")


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
    assert ids(ns) == AFTER[start]
    ns.table(TABLE).dataset().validate()


@pytest.mark.parametrize("start", AFTER, ids=lambda start: start.__name__)
def test_another_table_of_the_same_name_is_another(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    fill(ns)
    with without_commits(monkeypatch), pytest.raises(JobFailedError, match="died"):
        start(ns).wait()
    ns.drop_table(TABLE)
    fill(ns)
    start(ns).wait()
    assert ids(ns) == AFTER[start]
    ns.table(TABLE).dataset().validate()


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

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance_namespace import ConcurrentModificationError

import lancespace_jobs as jobs
import lancespace_views as views
from lancespace_jobs import FOLDER, JobFailedError, Stage, SubmittedJob, TableSpec
from lancespace_jobs import _maintenance as cleanup
from lancespace_jobs import _maintenance as maintenance
from plugins.jobs.tests.support import TABLE, files, fill, folder, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace


def fragments(ns: Namespace, table: str = TABLE) -> int:
    return len(ns.table(table).dataset().get_fragments())


def test_small_fragments_become_one(ns: Namespace) -> None:
    fill(ns)
    ns.delete_from_table(TABLE, predicate="id = 7")
    jobs.compact(ns, TABLE).wait()
    assert fragments(ns) == 1
    assert ids(ns) == [number for number in range(40) if number != 7]


def test_a_bounded_compaction_does_a_part(ns: Namespace) -> None:
    fill(ns, fragments=6)
    jobs.compact(ns, TABLE, target_rows_per_fragment=20, max_tasks=1).wait()
    assert fragments(ns) == 5
    assert ids(ns) == list(range(60))


def test_compaction_goes_beside_an_append(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    from lancespace_jobs import _maintenance as compaction

    fill(ns)
    real = compaction.rewrite

    def late(task: compaction._Rewrite) -> str:
        ns.insert_into_table(TABLE, rows(40, 50))
        return real(task)

    monkeypatch.setattr(compaction, "rewrite", late)
    jobs.compact(ns, TABLE).wait()
    assert ids(ns) == list(range(50))
    assert fragments(ns) == 2


def test_old_versions_go_but_tagged_ones_stay(ns: Namespace) -> None:
    fill(ns)
    ns.create_table_tag(TABLE, tag="kept", version=2)
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    assert [version.version for version in ns.list_table_versions(TABLE).versions] == [2, 4]
    assert ids(ns) == list(range(40))


def slices(monkeypatch: pytest.MonkeyPatch, size: int, after: Callable[[], None] = lambda: None) -> list[int]:
    """How many versions each slice of so many deletes; something may happen after each."""
    real = cleanup.delete_slice
    deleted: list[int] = []

    def recorded(task: Any) -> dict[str, int]:
        done = real(task)
        deleted.append(done["versions"])
        after()
        return done

    monkeypatch.setattr(cleanup, "SLICE", size)
    monkeypatch.setattr(cleanup, "delete_slice", recorded)
    return deleted


def kept(ns: Namespace) -> list[int]:
    return [version.version for version in ns.list_table_versions(TABLE).versions]


def test_many_old_versions_go_in_slices_and_a_tagged_one_stays(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ns, fragments=8, each=2)
    ns.create_table_tag(TABLE, tag="kept", version=2)
    deleted = slices(monkeypatch, 3)
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    assert (kept(ns), sum(deleted), len(deleted)) == ([2, 8], 6, 3)
    assert all(count <= 4 for count in deleted)
    assert ids(ns) == list(range(16))


def test_a_table_without_many_old_versions_is_listed_once(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ns)
    deleted = slices(monkeypatch, 3)
    jobs.clean_up(ns, TABLE, older_than=timedelta(days=1)).wait()
    assert deleted == [0]
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    assert (deleted, kept(ns)) == ([0, 3], [4])


def test_a_clean_up_is_cancelled_between_slices_and_a_repeat_does_the_rest(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ns, fragments=8, each=2)
    started: list[SubmittedJob] = []
    known = threading.Event()

    def cancel() -> None:
        assert known.wait(60)
        started[0].cancel()

    with monkeypatch.context() as patched:
        deleted = slices(patched, 3, cancel)
        started.append(jobs.clean_up(ns, TABLE, older_than=timedelta(0)))
        known.set()
        with pytest.raises(JobFailedError, match="cancelled"):
            started[0].wait()
        assert len(deleted) == 1
    assert len(kept(ns)) == 8 - deleted[0]
    jobs.clean_up(ns, TABLE, older_than=timedelta(0)).wait()
    assert (kept(ns), ids(ns)) == ([8], list(range(16)))


def test_files_that_nobody_committed_go_once_it_is_quiet(ns: Namespace) -> None:
    fill(ns)
    stage = Stage(TableSpec.of(ns, TABLE), "abandoned", "append")
    stage.prepare()
    stage.publish([stage.write(rows(40, 50).to_batches(), rows(0, 0).schema)])
    orphans = {name for name in files(ns) if name.startswith(FOLDER)}
    assert orphans
    jobs.clean_up(ns, TABLE).wait()
    assert orphans < files(ns)
    jobs.clean_up(ns, TABLE, older_than=timedelta(0), is_quiet=True).wait()
    used = {f"data/{file.path}" for one in ns.table(TABLE).dataset().get_fragments() for file in one.data_files()}
    assert files(ns) == used


def test_maintenance_does_every_table_below_a_namespace(ns: Namespace) -> None:
    ns.create_namespace("sales.eu")
    for table in ("sales.orders", "sales.eu.orders"):
        fill(ns, table=table)
        ns.create_table_scalar_index(table, column="id", index_type="BTREE")
        ns.insert_into_table(table, rows(40, 50))
    ns.create_namespace("other")
    fill(ns, table="other.orders")
    jobs.maintain(ns, "sales", older_than=timedelta(0)).wait()
    for table in ("sales.orders", "sales.eu.orders"):
        assert fragments(ns, table) < 5
        assert ns.describe_table_index_stats(table, index_name="id_idx").num_unindexed_rows == 0
        assert ids(ns, table) == list(range(50))
    assert fragments(ns, "other.orders") == 4


def test_a_table_that_fails_is_named_and_the_others_are_done(ns: Namespace) -> None:
    fill(ns, table="sales.bad")
    fill(ns)
    next((folder(ns, "sales.bad") / "data").iterdir()).unlink()
    with pytest.raises(JobFailedError, match=r"1 of 2 tables failed: .*sales\.bad"):
        jobs.maintain(ns).wait()
    assert fragments(ns) == 1


def looked_after(monkeypatch: pytest.MonkeyPatch, before: Callable[[str], None] = lambda _: None) -> list[str]:
    """The tables that are looked after from now on; something may happen before each."""
    real = maintenance._improve
    done: list[str] = []

    def recorded(handle: TableSpec, older_than: timedelta) -> Any:
        done.append(handle.name)
        before(handle.name)
        return real(handle, older_than)

    monkeypatch.setattr(maintenance, "_improve", recorded)
    return done


def test_a_repeat_of_a_maintenance_passes_over_what_was_done_and_has_not_changed(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sales.changed", "sales.done", "sales.bad"):
        fill(ns, table=name)
    broken = next((folder(ns, "sales.bad") / "data").iterdir())
    content = broken.read_bytes()
    broken.unlink()
    with pytest.raises(JobFailedError, match="1 of 3 tables failed"):
        jobs.maintain(ns).wait()
    broken.write_bytes(content)
    ns.insert_into_table("sales.changed", rows(40, 50))
    done = looked_after(monkeypatch)
    jobs.maintain(ns).wait()
    assert sorted(done) == ["sales.bad", "sales.changed"]
    jobs.maintain(ns).wait()
    assert len(done) == 2 + 3  # A new run looks at all of them.


def test_a_table_in_which_others_were_in_the_way_is_tried_again(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ns)

    def refuse(_: str) -> None:
        if len(done) < 3:
            raise ConcurrentModificationError("somebody was faster")

    done = looked_after(monkeypatch, refuse)
    jobs.maintain(ns).wait()
    assert len(done) == 3
    assert fragments(ns) == 1


def test_maintenance_leaves_views_to_their_refresh(ns: Namespace) -> None:
    fill(ns)
    ns.create_materialized_view(
        "sales.view", **views.query_view(f"SELECT id FROM {TABLE}", pa.schema([("id", pa.int64())]))
    )
    for start in (40, 50):
        SubmittedJob(ns, str(ns.refresh_materialized_view("sales.view").job_id)).wait()
        ns.insert_into_table(TABLE, rows(start, start + 10))
    before = fragments(ns, "sales.view")
    assert before > 1
    jobs.maintain(ns).wait()
    assert fragments(ns, "sales.view") == before

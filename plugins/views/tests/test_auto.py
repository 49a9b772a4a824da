"""Views that follow their sources by themselves."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lancespace_views as views
from lancespace import Namespace, connect
from lancespace.authoring import Job, JobState, JobStatus, Work
from lancespace_testing.waiting import until
from lancespace_views._auto_refresh import AutoRefresh
from plugins.views.tests.conftest import BACKENDS, filled
from plugins.views.tests.support import orders, rows, schema, wrapper_of

IDS = views.query_view("SELECT id FROM sales.orders", schema(id=pa.int64()), auto_refresh=True)


def ids(namespace: Namespace) -> list[int]:
    return [row["id"] for row in rows(namespace, "ids")]


@pytest.fixture(params=BACKENDS)
def quick(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A catalog whose view ``ids`` is refreshed without a pause."""
    with filled(request.param, tmp_path, **{"views.cooldown": "0"}) as namespace:
        namespace.create_materialized_view("ids", **IDS)
        yield namespace


def test_every_kind_of_change_is_followed(quick: Namespace):
    def becomes(*expected: int) -> None:
        until(lambda: ids(quick), lambda found: found == list(expected))

    quick.insert_into_table("sales.orders", orders(4))
    becomes(1, 2, 3, 4)
    quick.delete_from_table("sales.orders", predicate="id = 1")
    becomes(2, 3, 4)
    quick.update_table("sales.orders", updates=[["id", "40"]], predicate="id = 4")
    becomes(2, 3, 40)
    quick.merge_insert_into_table("sales.orders", orders(5), on=["id"], when_not_matched_insert_all=True)
    becomes(2, 3, 40, 5)
    quick.restore_table("sales.orders", version=1)
    becomes(1, 2, 3)
    quick.insert_into_table("sales.orders", orders(7), mode="overwrite")
    becomes(7)


def test_views_of_views_follow_too(quick: Namespace):
    top = views.query_view("SELECT id FROM ids", schema(id=pa.int64()), auto_refresh=True)
    quick.create_materialized_view("top", **top)
    quick.insert_into_table("sales.orders", orders(4))

    until(lambda: len(rows(quick, "top")), lambda count: count == 4)


def test_closing_waits_for_what_is_due(tmp_path: Path):
    properties = {"root": str(tmp_path), "views.cooldown": "3600"}
    with filled("dir", tmp_path, **{"views.cooldown": "3600"}) as namespace:
        namespace.create_materialized_view("ids", **IDS)
        for number in range(4, 10):
            namespace.insert_into_table("sales.orders", orders(number))

    with connect("dir", properties) as namespace:
        assert ids(namespace) == list(range(1, 10))


def test_other_connections_notice_the_view(tmp_path: Path):
    with filled("dir", tmp_path) as first:
        first.create_materialized_view("ids", **IDS)
        with connect("dir", {"root": str(tmp_path)}) as second:
            second.insert_into_table("sales.orders", orders(4))
        assert ids(first) == [1, 2, 3, 4]


def test_commits_of_pylance_through_the_catalog_are_followed(tmp_path: Path):
    with filled("dir", tmp_path, table_version_management="true") as namespace:
        namespace.create_materialized_view("ids", **IDS)
        lance.write_dataset(orders(4), namespace_client=namespace, table_id=["sales", "orders"], mode="append")
        wrapper_of(namespace).finish_automatic_refreshes()

        assert ids(namespace) == [1, 2, 3, 4]


def test_fewer_changes_than_the_threshold_are_left(tmp_path: Path):
    with filled("dir", tmp_path, **{"views.threshold": "3", "views.cooldown": "0"}) as namespace:
        namespace.create_materialized_view("ids", **IDS)
        for number in (4, 5):
            namespace.insert_into_table("sales.orders", orders(number))
        wrapper_of(namespace).finish_automatic_refreshes()
        assert ids(namespace) == []
        namespace.insert_into_table("sales.orders", orders(6))
        until(lambda: ids(namespace), lambda found: found == [1, 2, 3, 4, 5, 6])


def test_a_view_that_was_dropped_is_no_trouble(quick: Namespace):
    quick.insert_into_table("sales.orders", orders(4))
    quick.drop_table("ids")
    quick.insert_into_table("sales.orders", orders(5))
    wrapper_of(quick).finish_automatic_refreshes()

    quick.drop_table("sales.orders")


class Engine:
    """Runs each job when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.ended: set[str] = set()

    def submit(self, job: Job) -> str:
        self.jobs.append(job)
        return str(len(self.jobs) - 1)

    def describe(self, job_id: str) -> JobStatus:
        state = JobState.SUCCEEDED if job_id in self.ended else JobState.RUNNING
        return JobStatus(job_id, "refresh", "v", state)

    def run(self, number: int) -> None:
        self.jobs[number].run(None)  # type: ignore[arg-type]
        self.ended.add(str(number))


def test_changes_during_a_refresh_make_one_more():
    engine = Engine()
    refreshed: list[tuple[str, ...]] = []

    def refresh(names: tuple[str, ...], _work: Work) -> None:
        refreshed.append(names)

    auto = AutoRefresh(refresh, engine.submit, engine.describe, threshold=1, cooldown=0)
    for _ in range(5):
        auto.changed(("v",))
    assert len(engine.jobs) == 1
    engine.run(0)
    assert len(engine.jobs) == 2
    engine.run(1)
    assert len(engine.jobs) == 2
    assert refreshed == [("v",), ("v",)]


def test_a_job_that_was_cancelled_before_it_began_does_not_block_the_next():
    engine = Engine()
    auto = AutoRefresh(lambda _names, _work: None, engine.submit, engine.describe, threshold=1, cooldown=0)
    auto.changed(("v",))
    engine.ended.add("0")
    auto.changed(("v",))

    assert len(engine.jobs) == 2


def test_the_cooldown_gathers_changes():
    engine = Engine()
    started = threading.Event()

    def submit(job: Job) -> str:
        job_id = engine.submit(job)
        if len(engine.jobs) == 2:
            started.set()
        return job_id

    auto = AutoRefresh(lambda _names, _work: None, submit, engine.describe, threshold=1, cooldown=0.2)
    auto.changed(("v",))
    engine.run(0)
    for _ in range(5):
        auto.changed(("v",))
    assert len(engine.jobs) == 1

    assert started.wait(30)
    engine.run(1)
    assert len(engine.jobs) == 2

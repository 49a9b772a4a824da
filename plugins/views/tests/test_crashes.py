"""A process that is killed at any write of a create or refresh: the view is whole, and a repeat gets through."""

from __future__ import annotations

import functools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import lance
import lance.fragment
import pyarrow as pa
import pytest
from lance_namespace import TableAlreadyExistsError

import lancespace_views as views
from lancespace import Namespace, connect
from lancespace_views import _tasks as tasks
from plugins.dir.tests.processes import Process
from plugins.views.tests.conftest import filled
from plugins.views.tests.support import assert_is_query, ended, orders, refresh, schema

QUERY = "SELECT id, total FROM {sales_orders} WHERE total > 1"
FIELDS = views.query_view(QUERY.format(sales_orders="sales.orders"), schema(id=pa.int64(), total=pa.float64()))

WRITES = (
    (lance.fragment, "write_fragments"),
    (tasks, "write_fragments"),
    (lance.LanceDataset, "commit"),
    (lance.LanceDataset, "update_metadata"),
    (os, "link"),
    (os, "rename"),
    (os, "replace"),
)


def create(namespace: Namespace) -> None:
    namespace.create_materialized_view("v", **FIELDS)


def refresh_view(namespace: Namespace) -> None:
    status = ended(namespace, namespace.refresh_materialized_view("v").job_id)
    assert status.status == "SUCCEEDED", status.properties


def killed(action: Callable[[Namespace], None], root: Path) -> Iterator[int]:
    """Run an action again and again, killed a little later each time, until it gets through."""
    for moment in count(1):
        process = Process(_run, moment, action, root)
        try:
            process.result()
        except EOFError:
            yield moment
        else:
            return


def _run(moment: int, action: Callable[[Namespace], None], root: Path) -> None:
    left = [moment]

    def tick() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def killing(*arguments: Any, **options: Any) -> Any:
            tick()
            answer = write(*arguments, **options)
            tick()
            return answer

        return killing

    with connect("dir", {"root": str(root)}) as namespace:
        for owner, name in WRITES:
            setattr(owner, name, around(getattr(owner, name)))
        action(namespace)


def put_back(template: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)


@pytest.mark.slow
def test_a_refresh_that_is_killed_leaves_the_view_as_it_was_or_as_it_is_to_be(tmp_path: Path):
    root, template = tmp_path / "lake", tmp_path / "template"
    with filled("dir", root) as namespace:
        create(namespace)
        refresh(namespace, "v")
        namespace.insert_into_table("sales.orders", orders(4))
        namespace.update_table("sales.orders", updates=[["total", "50.0"]], predicate="id = 2")
    shutil.copytree(root, template)

    moments = []
    for moment in killed(refresh_view, root):
        moments.append(moment)
        with connect("dir", {"root": str(root)}) as namespace:
            assert_is_query(namespace, "v", QUERY)
            refresh(namespace, "v")
            assert_is_query(namespace, "v", QUERY)
            assert namespace.table("v").count() == 4
        put_back(template, root)

    assert len(moments) > 3


@pytest.mark.slow
def test_a_create_that_is_killed_can_be_repeated(tmp_path: Path):
    root, template = tmp_path / "lake", tmp_path / "template"
    filled("dir", root).close()
    shutil.copytree(root, template)

    moments = []
    for moment in killed(create, root):
        moments.append(moment)
        with connect("dir", {"root": str(root)}) as namespace:
            try:
                create(namespace)
            except TableAlreadyExistsError:
                described = namespace.describe_table("v", load_detailed_metadata=True)
                assert "lancespace.view.definition" in (described.metadata or {})
            refresh(namespace, "v")
            assert_is_query(namespace, "v", QUERY)
        put_back(template, root)

    assert len(moments) > 3

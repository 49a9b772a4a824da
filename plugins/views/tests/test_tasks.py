"""What a refresh sends to other processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lancespace_views as views
from lancespace import Namespace
from lancespace_views._refresh import Options
from lancespace_views._tasks import Task, compute, divide
from plugins.dir.tests.processes import Process
from plugins.views.tests.conftest import filled
from plugins.views.tests.support import orders, schema, wrapper_of

WORDS = schema(id=pa.int64(), word=pa.string())


def words(note: str) -> list[dict[str, str]]:
    return [{"word": word} for word in note.split()]


def tasks_of(namespace: Namespace, view: str) -> list[Task]:
    wrapper = wrapper_of(namespace)
    found = wrapper.catalog.find([view])
    assert found is not None
    return [task for unit in divide(wrapper._refresh(found, Options())._task()) for task in unit.tasks]


@pytest.fixture
def namespace(tmp_path: Path):
    with filled("dir", tmp_path, **{"udf.enabled": "true"}) as namespace:
        namespace.insert_into_table("sales.orders", orders(4, 5))
        yield namespace


@pytest.mark.parametrize(("kind", "expected"), [("query", [3, 2]), ("chunker", [6, 4]), ("udtf", [2, 2, 1])])
def test_tasks_are_computed_by_another_process(namespace: Namespace, kind: str, expected: list[int]):
    if kind == "query":
        fields = views.query_view("SELECT id, note AS word FROM sales.orders", WORDS)
    elif kind == "chunker":
        fields = views.chunker(words, "SELECT id, note FROM sales.orders", WORDS, input_columns=["note"])
    else:
        query = "SELECT id, note AS word, person FROM sales.orders"
        fields = views.udtf(lambda rows: rows, query, WORDS, input_columns=["id", "word"], partition_by="person")
    namespace.create_materialized_view("v", **fields)

    tasks = tasks_of(namespace, "v")
    answers = [Process(compute, pickle.loads(pickle.dumps(task))).result() for task in tasks]

    counts = [sum(fragment["physical_rows"] for fragment in answer["fragments"]) for answer in answers]
    assert sorted(counts, reverse=True) == expected


def test_a_task_does_not_show_the_options_of_the_store(namespace: Namespace):
    namespace.create_materialized_view("v", **views.query_view("SELECT id, note AS word FROM sales.orders", WORDS))
    task = tasks_of(namespace, "v")[0]

    assert "storage_options" not in repr(task)


def test_only_the_columns_that_the_query_reads_are_read(namespace: Namespace):
    namespace.create_materialized_view(
        "v", **views.query_view("SELECT id, note AS word FROM sales.orders WHERE total > 1", WORDS)
    )

    assert {task.columns for task in tasks_of(namespace, "v")} == {("id", "total", "note")}

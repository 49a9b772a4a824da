"""Bad arguments for all public functions beside the operations: each is an error of the spec that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError

import lancespace_dir
import lancespace_jobs as jobs
from core.tests.test_bad_requests import VALUES
from lancespace import Namespace, connect
from lancespace_sql import sql


class Call(NamedTuple):
    """A function, and arguments that are right."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    with connect("dir", {"root": str(tmp_path / "lake")}) as made:
        made.create_table("t", pa.table({"id": range(10)}))
        yield made


def calls(namespace: Namespace, folder: Path) -> Iterator[Call]:
    """Every one; none is carried out with all of its arguments right."""
    source = folder / "rows.csv"
    source.write_text("id\n1\n")
    table = {"namespace": namespace, "table": "t"}
    yield Call(jobs.compact, {**table, "target_rows_per_fragment": 100, "max_tasks": 1})
    yield Call(jobs.clean_up, {**table, "older_than": timedelta(days=7), "is_quiet": False})
    yield Call(jobs.maintain, {"namespace": namespace, "parent": "", "older_than": timedelta(days=7)})
    yield Call(jobs.delete_rows, {**table, "where": "id = 1000"})
    yield Call(jobs.update_rows, {**table, "updates": {"id": "id"}, "where": "id = 1000"})
    yield Call(jobs.build_index, {**table, "column": "id", "index_type": "BTREE", "segment_rows": 9, "name": "i"})
    yield Call(jobs.import_files, {**table, "files": str(source), "format": "csv", "mode": "append"})
    yield Call(jobs.copy_table, {**table, "target": namespace, "to": "t", "version": 1})
    yield Call(lancespace_dir.snapshot, {"namespace": namespace, "tables": ["t"]})
    yield Call(lancespace_dir.migrate, {"namespace": namespace})
    yield Call(lancespace_dir.unmigrated, {"namespace": namespace})
    yield Call(sql, {"namespace": namespace, "statement": "SELECT 1", "parameters": {}})
    yield Call(lambda **given: namespace.table("t").dataset(**given), {"version": 1, "branch": "main"})
    yield Call(lambda **given: namespace.table("t").count(**given), {"predicate": "id = 1"})


def complaint(call: Call, name: str, value: object) -> str | None:
    try:
        call.function(**{**call.arguments, name: value})
    except LanceNamespaceError as error:
        return f"{name}={value!r:.40}: {error!r:.200}" if isinstance(error, InternalError) else None
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
        return f"{name}={value!r:.40}: {error!r:.200}"
    return None


def test_every_failure_is_an_error_of_the_spec(namespace: Namespace, tmp_path: Path):
    found = [
        (getattr(call.function, "__name__", ""), what)
        for call in calls(namespace, tmp_path)
        for name in call.arguments
        for value in VALUES
        if (what := complaint(call, name, value))
    ]
    assert found == []


def test_the_message_shows_what_the_function_takes(namespace: Namespace):
    with pytest.raises(InvalidInputError, match=r"Check the arguments: clean_up\(namespace: Namespace, "):
        jobs.clean_up("lake", "t")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"unexpected keyword argument 'age'.*Check the arguments: maintain\("):
        jobs.maintain(namespace, age=1)  # type: ignore[call-arg]

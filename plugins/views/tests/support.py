"""Views in tests: a small catalog, refreshes that are waited for, and what a view must be equal to."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa

from lancespace import Namespace
from lancespace_sql import sql
from lancespace_testing.waiting import until
from lancespace_views import ViewsWrapper

FINAL = {"SUCCEEDED", "FAILED", "CANCELED"}

ORDERS = pa.schema([("id", pa.int64()), ("person", pa.int64()), ("total", pa.float64()), ("note", pa.string())])


def orders(*ids: int) -> pa.Table:
    rows = [{"id": n, "person": n % 3, "total": n * 1.5, "note": f"note {n}"} for n in ids]
    return pa.Table.from_pylist(rows, schema=ORDERS)


def schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def ended(namespace: Namespace, job: str | None) -> Any:
    assert job is not None
    return until(lambda: namespace.describe_transaction(job), lambda found: found.status in FINAL)


def wrapper_of(namespace: Namespace) -> ViewsWrapper:
    wrapper = namespace.backend.connection._wrappers["views"]
    assert isinstance(wrapper, ViewsWrapper)
    return wrapper


def refresh(namespace: Namespace, view: str, **options: Any) -> None:
    """Refresh a view and wait for it to succeed."""
    status = ended(namespace, namespace.refresh_materialized_view(view, **options).job_id)
    assert status.status == "SUCCEEDED", status.properties


def failure(namespace: Namespace, view: str, **options: Any) -> str:
    """Refresh a view that cannot be, and say why."""
    status = ended(namespace, namespace.refresh_materialized_view(view, **options).job_id)
    assert status.status == "FAILED"
    return str(status.properties["message"])


def rows(namespace: Namespace, table: str) -> list[dict[str, Any]]:
    """All rows, in an order that does not depend on how they are stored."""
    return sorted(namespace.table(table).to_arrow().to_pylist(), key=repr)


def made_from(namespace: Namespace, view: str) -> dict[str, int]:
    """The versions of the sources that a view says it was made from."""
    described = namespace.describe_table(view, load_detailed_metadata=True)
    versions: dict[str, int] = json.loads((described.metadata or {})["lancespace.view.sources"])
    return versions


def assert_is_query(namespace: Namespace, view: str, statement: str) -> None:
    """The view has the rows of its query over the versions of the sources that it names; ``{table}`` stands for one."""
    pinned = {
        name.replace(".", "_"): f"at_version('{name}', {version})"
        for name, version in made_from(namespace, view).items()
    }
    expected = sql(namespace, statement.format(**pinned)).read_all()
    assert _counted(namespace.table(view).to_arrow()) == _counted(expected)


def _counted(table: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in table.to_pylist())


def files(namespace: Namespace, view: str) -> set[str]:
    """The data files of a view."""
    return {file.path for fragment in namespace.table(view).dataset().get_fragments() for file in fragment.data_files()}

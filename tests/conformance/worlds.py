"""For every operation, a catalog in which one good request of it succeeds.

The catalog is made in its directory, by ``lancespace_dir`` itself; so the one call that goes over the wire afterwards
is the one that is tested. The requests are the conformance suite's examples, which cover the table of operations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lancespace
from lancespace import Namespace
from lancespace.authoring import OPERATIONS, Connection, Payload, model
from lancespace_testing import examples
from lancespace_testing.samples import sample, stream
from lancespace_testing.staging import stage_append

Fields = dict[str, Any]
COMPUTED = {"name": "twice", "computed": "id * 2"}


def request(root: Path, operation: str) -> tuple[Any, bytes | None]:
    """Make the world of an operation in ``root``, and return the request to send, and its data."""
    with lancespace.connect("dir", {"root": str(root)}) as namespace:
        for earlier in examples.prerequisites(operation):
            _run(namespace, earlier)
        fields = {**examples.fields(operation), **_real(namespace, root, operation)}
    data = examples.data(operation)
    return model(OPERATIONS[operation].request).model_validate(fields), None if data is None else stream(data)


def expected(operation: str) -> type:
    """What a client makes of the answer to an operation."""
    row = OPERATIONS[operation]
    return str if row.result is Payload.TEXT else model(row.response)


def _run(namespace: Namespace, operation: str) -> Any:
    data: pa.Table | None = examples.data(operation)
    return namespace.call(OPERATIONS[operation], examples.fields(operation), *([] if data is None else [data]))


def _real(namespace: Namespace, root: Path, operation: str) -> Fields:
    """What an example can only name once there is a world: a location, a staged manifest, a column, a job."""
    if operation == "register_table":
        lance.write_dataset(sample(), str(root / "stray"))
        return {"location": "stray", "id": ["registered"]}
    if operation == "create_table_version":
        return _staged(namespace)
    if operation == "batch_create_table_versions":
        return {"entries": [{"id": examples.TABLE, **_staged(namespace)}]}
    if operation in {"alter_table_backfill_columns", "alter_transaction"}:
        namespace.alter_table_add_columns(id=examples.TABLE, new_columns=[COMPUTED])
        return {"column": "twice"} if operation != "alter_transaction" else {"id": [_job(namespace)]}
    return {"id": [*examples.TABLE, "1"]} if operation == "describe_transaction" else {}


def _staged(namespace: Namespace) -> Fields:
    location = namespace.describe_table(id=examples.TABLE).location
    assert location is not None
    return stage_append(Connection("memory", {}).storage(location))


def _job(namespace: Namespace) -> str:
    return namespace.alter_table_backfill_columns(id=examples.TABLE, column="twice").job_id

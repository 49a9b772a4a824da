"""What others do to a table while an upsert is at work: no session is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pyarrow as pa
import pytest
from lance.fragment import write_fragments
from lance_namespace import ConcurrentModificationError

from lancespace import Namespace
from lancespace_jobs import TableSpec
from lancespace_spark import keys
from lancespace_spark.rivals import Upserted
from plugins.spark.tests.data import TABLE, orders


def compact(ns: Namespace) -> None:
    ns.table(TABLE).dataset().optimize.compact_files()


def restore(ns: Namespace) -> None:
    """Rows that were deleted are there again, in a fragment that has been there all the time."""
    ns.restore_table(TABLE, version=2)


HOLDS: dict[str, Callable[[Namespace], object]] = {
    "nothing happens": Namespace.namespace_id,
    "other keys are appended": lambda ns: ns.insert_into_table(TABLE, orders(60, 70)),
    "rows that it does not touch are deleted": lambda ns: ns.delete_from_table(TABLE, predicate="id = 1"),
    "only others' rows are compacted": compact,
    "an index is made": lambda ns: ns.create_table_scalar_index(TABLE, column="id", index_type="BTREE"),
}
FAILS: dict[str, Callable[[Namespace], object]] = {
    "one of its keys is appended": lambda ns: ns.insert_into_table(TABLE, orders(50, 51)),
    "rows that it touches are compacted": compact,
    "rows that it touches are deleted": lambda ns: ns.delete_from_table(TABLE, predicate="id = 25"),
    "a row gets one of its keys": lambda ns: ns.update_table(TABLE, updates=[["id", "51"]], predicate="id = 2"),
    "a row with one of its keys comes back": restore,
    "a column is dropped": lambda ns: ns.alter_table_drop_columns(TABLE, columns=["name"]),
    "the table is overwritten": lambda ns: ns.create_table(TABLE, orders(0, 5), mode="overwrite"),
}
INSERTS = {"only others' rows are compacted", "a row with one of its keys comes back", "a column is dropped"}
"""Where it replaces no rows, so that only this can matter."""


@pytest.mark.parametrize("act", [*HOLDS, *FAILS])
def test_it_holds_unless_others_changed_what_it_was_about(ns: Namespace, act: str) -> None:
    ns.create_table(TABLE, orders(0, 20))
    ns.insert_into_table(TABLE, pa.concat_tables([orders(20, 30), orders(55, 56)]))
    ns.insert_into_table(TABLE, orders(30, 31))
    ns.delete_from_table(TABLE, predicate="id = 55")
    handle = TableSpec.of(ns, TABLE)
    base = handle.open()
    touched = [] if act in INSERTS else [base.get_fragments()[1].fragment_id]
    fragments = write_fragments(orders(50, 56), base)
    upserted = Upserted(handle, fragments, touched, ["id"])
    {**HOLDS, **FAILS}[act](ns)
    with nullcontext() if act in HOLDS else pytest.raises(ConcurrentModificationError, match="what an upsert into"):
        upserted.check(base, handle.open())


def test_keys_are_compared_as_spark_does() -> None:
    rows = pa.table({"k": [0.0, -0.0, float("nan"), float("nan"), 1.0], "_rowaddr": [None] * 5})
    assert keys.twice(rows, ["k"]).num_rows == 2

"""Rows with our keys that others have added: no session is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lancespace.handles import TableHandle
from lancespace_spark import keys, twins
from plugins.spark.tests.data import TABLE, orders

if TYPE_CHECKING:
    from lancespace import Namespace


def names(ns: Namespace) -> dict[int, str]:
    rows = ns.table(TABLE).to_arrow(columns=["id", "name"]).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["name"] for row in rows}


def renamed(start: int, stop: int, name: str) -> pa.Table:
    rows = orders(start, stop)
    return rows.set_column(1, "name", pa.array([name] * rows.num_rows))


def test_rows_of_others_are_found_after_they_were_moved(ns: Namespace) -> None:
    """An update writes rows anew: the file that they were in is gone."""
    ns.create_table(TABLE, orders(0, 2))
    base = ns.table(TABLE).dataset()
    ns.insert_into_table(TABLE, renamed(5, 7, "theirs"))
    before = {one.fragment_id for one in ns.table(TABLE).dataset().get_fragments()}
    ns.insert_into_table(TABLE, renamed(5, 6, "ours"))
    done = ns.table(TABLE).dataset()
    ours = [one.metadata for one in done.get_fragments() if one.fragment_id not in before]
    ns.update_table(TABLE, updates=[["name", "'moved'"]], predicate="name = 'theirs'")
    assert twins.remove(TableHandle.of(ns, TABLE), done, base, ours, ["id"]) == 1
    assert names(ns) == {0: "n0", 1: "n1", 5: "ours", 6: "moved"}


def test_keys_are_compared_as_spark_does() -> None:
    rows = pa.table({"k": [0.0, -0.0, float("nan"), float("nan"), 1.0], "_rowaddr": [None] * 5})
    assert keys.twice(rows, ["k"]).num_rows == 2

"""New values of a column, for all rows of a fragment and for some: the same values, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lancespace import Namespace, connect
from lancespace_testing.waiting import until

ROWS = pa.table(
    {
        "id": range(10),
        "name": [f"n{number}" for number in range(10)],
        "at": [{"x": number, "tags": [str(number)]} for number in range(10)],
    }
)
EXPRESSIONS = {
    "number": "id * 2",
    "text": "concat(name, '!')",
    "null": "nullif(id, 3)",
    "list": "make_array(id, id + 1)",
    "struct": "named_struct('a', id, 'b', named_struct('c', name, 'd', make_array(id)))",
}


@pytest.fixture(params=["plain", "stable row ids", "deleted rows"])
def namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Namespace:
    """A table of two fragments, of each kind that makes a difference to how values are written."""
    location, stable = str(tmp_path / "t.lance"), request.param == "stable row ids"
    for mode in ("create", "append"):
        lance.write_dataset(ROWS, location, mode=mode, enable_stable_row_ids=stable)
    if request.param == "deleted rows":
        lance.dataset(location).delete("id = 4")
    return connect("dir", {"root": str(tmp_path)})


def backfill(namespace: Namespace, **fields: Any) -> None:
    job = namespace.alter_table_backfill_columns("t", column="made", **fields).job_id
    status = until(lambda: namespace.describe_transaction(job), lambda found: found.status not in {"QUEUED", "RUNNING"})
    assert status.status == "SUCCEEDED", status.properties


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_all_rows_are_as_a_query_has_them(namespace: Namespace, expression: str):
    table = namespace.table("t")
    before = table.to_arrow()
    wanted = table.to_arrow(columns={"made": expression, "id": "id"})["made"].to_pylist()
    namespace.alter_table_add_columns("t", new_columns=[{"name": "made", "computed": expression}])

    backfill(namespace, where="id < 5")
    assert set(map(str, table.to_arrow(filter="id >= 5")["made"].to_pylist())) == {"None"}
    for where in (None, "id >= 0", None):
        backfill(namespace, where=where)

    assert table.to_arrow()["made"].to_pylist() == wanted
    assert table.to_arrow(columns=before.column_names) == before
    dataset = table.dataset()
    dataset.validate()
    assert {len(fragment.data_files()) for fragment in dataset.get_fragments()} <= {2, 5}
    dataset.optimize.compact_files()
    assert dataset.to_table()["made"].to_pylist() == wanted


def test_a_column_in_one_file_with_others(namespace: Namespace):
    namespace.alter_table_add_columns("t", new_columns=[{"name": "made", "computed": "id * 2"}])
    backfill(namespace)
    namespace.table("t").dataset().optimize.compact_files()
    namespace.insert_into_table("t", ROWS.append_column("made", pa.array(range(10))))
    namespace.create_table_scalar_index("t", column="id", index_type="BTREE")

    backfill(namespace)

    for fragment in namespace.table("t").dataset().get_fragments():
        fields = [number for file in fragment.data_files() for number in file.fields if number >= 0]
        assert len(fields) == len(set(fields)), "the values of a column are in one file"
    rows = namespace.table("t").to_arrow(filter="id = 7").to_pylist()
    assert rows == [{**ROWS.to_pylist()[7], "made": 14}] * 3
    assert "ScalarIndexQuery" in namespace.explain_table_query_plan("t", query={"filter": "id = 7"})


def test_stable_rows_tell_when_they_were_changed(tmp_path: Path):
    lance.write_dataset(ROWS, str(tmp_path / "t.lance"), enable_stable_row_ids=True)
    namespace = connect("dir", {"root": str(tmp_path)})
    namespace.alter_table_add_columns("t", new_columns=[{"name": "made", "computed": "id * 2"}])

    for where, changed in ((None, 10), ("id < 3", 3)):
        backfill(namespace, where=where)
        dataset = namespace.table("t").dataset()
        (versions,) = dataset.to_table(columns=["_row_last_updated_at_version"]).columns
        assert versions.to_pylist().count(dataset.version) == changed

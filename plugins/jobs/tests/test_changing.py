from __future__ import annotations

from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
    UnsupportedOperationError,
)

import lancespace_jobs as jobs
from lancespace_jobs import _updates as changing
from plugins.jobs.tests.support import TABLE, files, fill, ids, rows

if TYPE_CHECKING:
    from lancespace import Namespace


def test_rows_are_deleted_in_one_version(ns: Namespace) -> None:
    fill(ns)
    version = ns.table(TABLE).dataset().version
    status = jobs.delete_rows(ns, TABLE, "id % 3 = 0 OR id < 10").wait()
    assert ids(ns) == [number for number in range(10, 40) if number % 3]
    assert ns.table(TABLE).dataset().version == version + 1
    assert status.rows == 40 - len(ids(ns))


def test_nothing_to_delete_is_no_version(ns: Namespace) -> None:
    fill(ns)
    version = ns.table(TABLE).dataset().version
    jobs.delete_rows(ns, TABLE, "id < 0").wait()
    assert ns.table(TABLE).dataset().version == version


def test_rows_are_updated_in_one_version(ns: Namespace) -> None:
    fill(ns)
    version = ns.table(TABLE).dataset().version
    jobs.update_rows(ns, TABLE, {"name": "concat('x', name)", "id": "id + 100"}, where="id >= 35").wait()
    assert ids(ns) == [*range(35), *range(135, 140)]
    assert ns.table(TABLE).to_arrow(filter="id = 137")["name"].to_pylist() == ["xn37"]
    assert ns.table(TABLE).dataset().version == version + 1


def test_all_rows_are_updated_without_a_filter(ns: Namespace) -> None:
    fill(ns)
    jobs.update_rows(ns, TABLE, {"name": "'same'"}).wait()
    assert set(ns.table(TABLE).to_arrow()["name"].to_pylist()) == {"same"}
    assert ids(ns) == list(range(40))


@pytest.mark.parametrize("kind", ["delete", "update"])
def test_others_in_the_way_lose_nothing_and_leave_nothing(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    fill(ns)
    real = changing._touched
    calls: list[int] = []

    def late(*arguments: object) -> object:
        """Somebody else deletes rows of every fragment between the work and the commit, once."""
        found = real(*arguments)  # type: ignore[arg-type]
        if not calls:
            calls.append(1)
            ns.delete_from_table(TABLE, predicate="id % 10 = 5")
        return found

    monkeypatch.setattr(changing, "_touched", late)
    if kind == "delete":
        jobs.delete_rows(ns, TABLE, "id % 10 = 1").wait()
    else:
        jobs.update_rows(ns, TABLE, {"id": "id + 1000"}, where="id % 10 = 1").wait()
    left = {number for number in range(40) if number % 10 not in {1, 5}}
    assert ids(ns) == sorted(left | ({1001, 1011, 1021, 1031} if kind == "update" else set()))
    before = files(ns)
    jobs.clean_up(ns, TABLE, is_quiet=True).wait()
    assert files(ns) == before  # What the refused attempt had written was gone already.


def test_mistakes_are_told_before_a_job_begins(ns: Namespace) -> None:
    fill(ns)
    with pytest.raises(LanceNamespaceError, match="nonsense"):
        jobs.delete_rows(ns, TABLE, "nonsense > 1")
    with pytest.raises(InvalidInputError, match="at least one column"):
        jobs.update_rows(ns, TABLE, {})
    with pytest.raises(TableColumnNotFoundError, match="price"):
        jobs.update_rows(ns, TABLE, {"price": "1"})


def test_a_part_of_a_column_is_not_set(ns: Namespace) -> None:
    """It would succeed and do nothing."""
    ns.create_table(TABLE, pa.table({"id": [1], "st": [{"x": 1}]}))
    with pytest.raises(UnsupportedOperationError, match=r"'st\.x' is a part of one"):
        jobs.update_rows(ns, TABLE, {"st.x": "99"})


def test_rows_keep_their_stable_ids(ns: Namespace) -> None:
    location = str(ns.declare_table(TABLE).location)
    lance.write_dataset(rows(0, 10), location, enable_stable_row_ids=True, max_rows_per_file=5)
    jobs.update_rows(ns, TABLE, {"name": "'x'"}, where="id IN (2, 3, 7)").wait()
    found = ns.table(TABLE).dataset().to_table(with_row_id=True)
    assert dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True)) == {n: n for n in range(10)}
    assert ns.table(TABLE).count("name = 'x'") == 3


def test_tables_with_blobs_are_refused(ns: Namespace) -> None:
    schema = pa.schema([("id", pa.int64()), pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    ns.create_table(TABLE, pa.table({"id": [1], "b": [b"x"]}, schema=schema))
    with pytest.raises(UnsupportedOperationError, match=r"update table .*the column 'b' holds blobs: delete the rows"):
        jobs.update_rows(ns, TABLE, {"id": "2"})
    with pytest.raises(UnsupportedOperationError, match=r"copy table .*the column 'b' holds blobs"):
        jobs.copy_table(ns, TABLE, ns, "sales.copy")

"""Small appends that arrive together share a commit; each caller has an answer of its own."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, LanceNamespaceError, ServiceUnavailableError

from lancespace_tables import TableLocation
from lancespace_tables._appends import Append, Appends, NoDataError

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])
CALLERS = 5


class HeldRef(TableLocation):
    """A table whose first commit waits until the test lets it go on."""

    released = threading.Event()
    fails = False

    def latest(self, branch: str | None = None) -> lance.LanceDataset | None:
        self.released.wait(10)
        return super().latest(branch)

    def committing(self) -> dict[str, Any]:
        if self.fails:
            raise ConnectionError("the store does not answer")
        return super().committing()


@pytest.fixture
def ref(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HeldRef:
    location = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": [0]}, schema=SCHEMA), location)
    monkeypatch.setattr(HeldRef, "released", threading.Event())
    return HeldRef(("t",), location, {})


def ids(ref: TableLocation, version: int | None = None) -> list[int]:
    return sorted(lance.dataset(ref.location, version=version).to_table()["id"].to_pylist())


def append(ref: TableLocation, numbers: list[int | None], schema: pa.Schema = SCHEMA) -> Append:
    batch = pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], schema=schema)
    return Append(ref, None, schema, [batch])


def after_the_first(ref: HeldRef, others: list[Append]) -> tuple[int, list[int | LanceNamespaceError]]:
    """Commit one append and, while it is held up, have others wait in line; what became of each."""
    appends = Appends()
    with ThreadPoolExecutor(1 + len(others)) as pool:
        first = pool.submit(appends.commit, append(ref, [100]))
        futures: list[Future[int]] = []
        for place, other in enumerate(others, 1):
            futures.append(pool.submit(appends.commit, other))
            _wait_for_line(appends, place)
        ref.released.set()
        outcomes = [future.exception(30) or future.result() for future in futures]
        return first.result(30), outcomes  # type: ignore[return-value]


def _wait_for_line(appends: Appends, length: int) -> None:
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        lines = list(appends._lines.values())
        if lines and len(lines[0].waiting) == length and lines[0].commits.locked():
            return
        time.sleep(0.001)
    raise TimeoutError


def test_appends_that_wait_share_a_commit(ref):
    first, others = after_the_first(ref, [append(ref, [n, -n]) for n in range(1, CALLERS)])
    assert first == 2
    assert others == [3] * (CALLERS - 1)
    assert ids(ref, 2) == [0, 100]
    assert ids(ref) == sorted([0, 100, *range(1, CALLERS), *range(-CALLERS + 1, 0)])


def test_rows_that_cannot_be_written_fail_alone(ref):
    nullable = pa.schema([pa.field("id", pa.int64())])
    bad = append(ref, [None], nullable)
    _, others = after_the_first(ref, [append(ref, [1], nullable), bad, append(ref, [2], nullable)])
    assert isinstance(others[1], InvalidInputError)
    assert ids(ref) == [0, 1, 2, 100]
    assert 3 <= max(others[0], others[2]) <= 4  # type: ignore[type-var, operator]


def test_other_columns_are_another_commit(ref):
    nullable = pa.schema([pa.field("id", pa.int64())])
    _, others = after_the_first(ref, [append(ref, [1]), append(ref, [2], nullable), append(ref, [3])])
    assert others[0] == others[2] != others[1]
    assert ids(ref) == [0, 1, 2, 3, 100]


def test_a_commit_that_fails_fails_for_all(ref):
    appends = [append(ref, [1]), append(ref, [2])]
    first, others = after_the_first(ref, appends[:1])
    ref.__class__.fails = True
    try:
        with ThreadPoolExecutor(2) as pool:
            group = Appends()
            futures = [pool.submit(group.commit, append(ref, [3])), pool.submit(group.commit, appends[1])]
            errors = [future.exception(30) for future in futures]
    finally:
        ref.__class__.fails = False
    assert {type(error) for error in errors} == {ServiceUnavailableError}
    assert ids(ref) == [0, 1, 100]
    assert (first, others) == (2, [3])


def test_a_table_without_data_says_so_to_each(tmp_path, ref):
    missing = HeldRef(("m",), str(tmp_path / "missing.lance"), {})
    ref.released.set()
    with pytest.raises(NoDataError):
        Appends().commit(append(missing, [1]))

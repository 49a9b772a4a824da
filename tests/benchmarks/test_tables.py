"""The benchmark of table operations compares what it says; who is faster is not for a test to demand."""

from __future__ import annotations

from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from benchmarks import tables
from benchmarks.peak import write_rows
from benchmarks.rows import batches

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    """Enough rows to train an index, and one look at everything."""
    for name, value in {"ROWS": 1000, "INSERT_MB": 1, "ROUNDS": 1, "WARMUPS": 1, "INSERTED": 10, "MERGED": 10}.items():
        monkeypatch.setattr(tables, name, value)


def test_both_are_measured_in_every_case():
    results = list(islice(tables.run(), 6))

    assert [result.case for result in results] == [
        "filtered count",
        "vector query, flat",
        "vector query, IVF_PQ",
        "full-text query",
        "insert of 10 rows",
        "merge_insert of 10 rows by key",
    ]
    for result in results:
        numbers = result.numbers
        assert numbers["ratio"] == pytest.approx(numbers["rust_ms"] / numbers["ours_ms"])


@pytest.mark.slow
def test_the_peak_memory_of_an_insert_is_measured_in_processes_of_their_own(tmp_path: Path):
    stream, whole = tables._memory(str(tmp_path))

    assert "as stream" in stream.case
    assert "as bytes" in whole.case
    assert 50 < stream.numbers["ours_mb"] < 1000


def test_different_answers_are_no_comparison():
    case = tables.Case("count", lambda namespace, number: namespace.count + number, lambda answer: answer)
    namespaces = {"ours": SimpleNamespace(count=1), "rust": SimpleNamespace(count=2)}

    with pytest.raises(RuntimeError, match=r"count: the answers differ, .* \{'ours': 1, 'rust': 2\}"):
        tables._compare(case, namespaces)  # type: ignore[arg-type]


def test_rows_are_the_same_every_time_and_as_large_as_asked(tmp_path: Path):
    assert next(batches(100)).equals(next(batches(100)))
    assert sum(batch.num_rows for batch in batches(12_345)) == 12_345

    size = (tmp_path / write_rows(str(tmp_path / "rows"), 2)).stat().st_size

    assert size == pytest.approx(2_000_000, rel=0.05)

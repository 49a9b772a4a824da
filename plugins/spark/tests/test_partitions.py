from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lancespace_spark.partitions import Span, row_bytes, share_out

SIZES = st.lists(st.integers(0, 5000), max_size=30).map(lambda sizes: list(enumerate(sizes)))


def covered(shares: list[tuple[Span, ...]]) -> dict[int, list[tuple[int, int]]]:
    """Which rows of each fragment are read, as offsets from and to."""
    found: dict[int, list[tuple[int, int]]] = {}
    for span in (span for share in shares for span in share):
        start = span.offset or 0
        found.setdefault(span.fragment, []).append((start, start + span.rows))
    return found


@settings(deadline=None)
@given(SIZES, st.integers(1, 3000), st.integers(1, 8))
def test_every_row_is_in_exactly_one_partition(sizes: list[tuple[int, int]], target: int, at_least: int) -> None:
    found = covered(share_out(sizes, target, at_least))
    assert found.keys() == {fragment for fragment, rows in sizes if rows}
    for fragment, rows in sizes:
        parts = sorted(found.get(fragment, []))
        assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])][: len(parts)]
        assert sum(stop - start for start, stop in parts) == rows


@settings(deadline=None)
@given(SIZES, st.integers(1, 3000), st.integers(1, 8))
def test_partitions_are_balanced(sizes: list[tuple[int, int]], target: int, at_least: int) -> None:
    shares = share_out(sizes, target, at_least)
    rows = [sum(span.rows for span in share) for share in shares]
    total = sum(rows)
    wanted = min(-(-total // (target * at_least)) * at_least, total)
    assert len(shares) <= wanted
    if total:
        assert -(-total // wanted) <= target
        limit = -(-total // wanted)
        assert max(rows) <= 3 * limit


@settings(deadline=None)
@given(SIZES, st.integers(1, 3000), st.integers(1, 8))
def test_fragments_can_be_kept_whole(sizes: list[tuple[int, int]], target: int, at_least: int) -> None:
    shares = share_out(sizes, target, at_least, cut=False)
    spans = [span for share in shares for span in share]
    assert sorted((span.fragment, span.rows) for span in spans) == [size for size in sizes if size[1]]
    assert all(span.offset is None for span in spans)


def test_no_rows_are_no_partitions() -> None:
    assert share_out([(0, 0), (1, 0)], 10, 4) == []


def test_the_width_of_a_row_is_told_by_its_types() -> None:
    floats = pa.list_(pa.float32(), 16)
    schema = pa.schema({"id": pa.int64(), "flag": pa.bool_(), "v": floats, "s": pa.struct({"a": pa.int32()})})
    assert row_bytes(schema) == 8 + 1 + 64 + 4
    assert row_bytes(pa.schema({"text": pa.string()})) > 0

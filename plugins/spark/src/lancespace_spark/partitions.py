"""How the rows of a table are shared out to tasks."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

if TYPE_CHECKING:
    import pyarrow as pa

PARTITION_BYTES = 512 << 20
"""How much a task reads by default, about: each costs Spark a tenth of a second, and is what is lost with a worker."""

_TEXT_BYTES = 64
"""What a value is taken for whose type does not tell its size."""


@dataclass(frozen=True)
class Span:
    """Rows of one fragment: all, or so many from an offset."""

    fragment: int
    rows: int
    offset: int | None = None


class ScanPartition(InputPartition):
    """Fragments, or parts of them, that one task reads."""

    def __init__(self, spans: tuple[Span, ...], version: int) -> None:
        super().__init__(spans)
        self.spans = spans
        self.version = version


class RowsPartition(InputPartition):
    """A few rows that were found when the read was planned: they travel with the plan, and no task opens the table."""

    def __init__(self, rows: bytes) -> None:
        super().__init__("rows")
        self.rows = rows
        """As an Arrow IPC stream."""


def row_bytes(schema: pa.Schema) -> int:
    """How much a row takes in memory, about."""
    return sum(width(field.type) for field in schema)


def width(kind: pa.DataType) -> int:
    """How many bytes a value of a type takes, about."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * width(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(width(kind.field(number).type) for number in range(kind.num_fields))
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return _TEXT_BYTES


def share_out(
    fragments: Iterable[tuple[int, int]], target_rows: int, at_least: int, *, cut: bool = True
) -> list[tuple[Span, ...]]:
    """Pack fragments, given as id and rows, into partitions of about equal numbers of rows.

    There are as many partitions as there are cores to keep busy (``at_least``), or several for each if the rows need
    more at ``target_rows`` each. With ``cut``, a fragment that is larger than a partition is cut.
    """
    sizes = [(fragment, rows) for fragment, rows in fragments if rows]
    total = sum(rows for _, rows in sizes)
    if not total:
        return []
    rounds = -(-total // max(1, target_rows * at_least))
    count = min(rounds * at_least, total)
    limit = -(-total // count)
    pieces = (span for sized in sizes for span in (_cut(*sized, limit) if cut else [Span(*sized)]))
    spans = sorted(pieces, key=lambda span: -span.rows)
    return _packed(spans, count)


def _cut(fragment: int, rows: int, limit: int) -> list[Span]:
    if rows <= limit * 3 // 2:
        return [Span(fragment, rows)]
    pieces = -(-rows // limit)
    size = -(-rows // pieces)
    return [Span(fragment, min(size, rows - offset), offset) for offset in range(0, rows, size)]


def _packed(spans: list[Span], count: int) -> list[tuple[Span, ...]]:
    """The largest span goes to the emptiest partition, and so on."""
    bins: list[tuple[int, int, list[Span]]] = [(0, number, []) for number in range(count)]
    for span in spans:
        rows, number, held = heapq.heappop(bins)
        heapq.heappush(bins, (rows + span.rows, number, [*held, span]))
    return [tuple(held) for _, _, held in sorted(bins, key=lambda entry: entry[1]) if held]

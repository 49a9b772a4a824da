"""Tables for a terminal: numbers to the right, vectors and long texts cut, and no more columns than fit.

Where the text is what matters, as in findings, it is broken into lines instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lancespace_cli.values import plain, short

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2


def draw(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Draw a table, and answer the columns for which the terminal is too narrow; the first is always there."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    cells = [[short(value) for value in row] for row in rows]
    widths = [max(map(cell_len, (name, *(row[at] for row in cells)))) for at, name in enumerate(columns)]
    count = _fitting(widths, console.width)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for at, name in enumerate(columns[:count]):
        is_number = any(_is_number(row[at]) for row in rows)
        table.add_column(Text(name), justify="right" if is_number else "left", no_wrap=True)
    for row in cells:
        table.add_row(*map(Text, row[:count]))
    console.print(table, soft_wrap=False)
    return list(columns[count:])


def draw_whole(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Draw a table with everything in it, on as many lines as that takes."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(value)) for value in row))
    console.print(table, soft_wrap=False)


def _fitting(widths: Sequence[int], room: int) -> int:
    used = 0
    for count, width in enumerate(widths):
        used += width + (_GAP if count else 0)
        if used > room:
            return max(1, count)
    return len(widths)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

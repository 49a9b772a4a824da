"""What the command prints: results to standard output, everything else to standard error.

At a terminal results are tables with colours; into a pipe they are plain, one row a line with tabs between; with
``--json`` they are JSON either way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from lancespace_cli.values import distinct, plain, to_json

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.progress import Progress

AT_A_TERMINAL = 1000
"""So many rows are drawn at most: a person reads no more, and a drawn table has to be in memory."""


class Output:
    """Where and how results, remarks and progress appear."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, no_color: bool = False) -> None:
        self.as_json = as_json
        self._quiet = quiet
        self._no_color = no_color or bool(os.environ.get("NO_COLOR"))

    @property
    def is_drawn(self) -> bool:
        """Whether results are drawn for a person, rather than written for a program."""
        return not self.as_json and sys.stdout.isatty()

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, whole: bool = False) -> None:
        """Rows under titles, cut to what fits unless they are to be shown whole; as JSON, a list of objects."""
        if self.as_json:
            self.json([dict(zip(columns, row, strict=True)) for row in rows])
        elif self.is_drawn and whole:
            from lancespace_cli.render import draw_whole

            draw_whole(self._console(), columns, list(rows))
        elif self.is_drawn:
            self._draw(columns, [list(row) for row in rows])
        else:
            self.lines("\t".join(plain(value) for value in row) for row in (columns, *rows))

    def names(self, names: Iterable[str]) -> None:
        """One name a line; as JSON, a list."""
        if self.as_json:
            self.json(list(names))
        else:
            self.lines(names)

    def record(self, fields: Mapping[str, Any]) -> None:
        """One object: a field a line."""
        if self.as_json:
            self.json(dict(fields))
            return
        shown = {name: value for name, value in fields.items() if value is not None}
        width = max((len(name) for name in shown), default=0)
        self.lines(f"{name:<{width}}  {plain(value)}" for name, value in shown.items())

    def rows(self, reader: Any) -> None:
        """The batches of an Arrow reader as they come; as JSON, an object a line."""
        names: Sequence[str] = reader.schema.names
        found = (row for batch in reader for row in _rows(batch))
        if self.as_json:
            keys = distinct(names)
            self.lines(to_json(dict(zip(keys, row, strict=True))) for row in found)
        elif self.is_drawn:
            self._draw(names, [list(row) for row in islice(found, AT_A_TERMINAL)], choose="--columns, ")
            if next(found, None) is not None:
                self.remark(f"Only the first {AT_A_TERMINAL:,} rows are drawn: use --limit, or a pipe for all.")
        else:
            self.lines(["\t".join(names)])
            self.lines("\t".join(plain(value) for value in row) for row in found)

    def json(self, value: Any) -> None:
        """One JSON document."""
        self.lines([to_json(value, indent=2)])

    def lines(self, lines: Iterable[str]) -> None:
        """Plain text."""
        for line in lines:
            sys.stdout.write(f"{line}\n")

    def draw(self, drawing: Any) -> None:
        """Something that rich draws."""
        self._console().print(drawing, markup=False)

    def done(self, message: str, **fields: Any) -> None:
        """What was done: a remark for a person, the fields for a program."""
        if self.as_json:
            self.json(fields)
        else:
            self.remark(message)

    def remark(self, message: str) -> None:
        """A word to the person at the terminal, beside the results."""
        if not self._quiet and not self.as_json:
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()

    def progress(self) -> Progress:
        """A bar with rate and time left on standard error; it shows only at a terminal."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Left

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
        return Progress(
            *columns,
            TextColumn("{task.fields[rows]}", markup=False),
            TimeElapsedColumn(),
            Left(),
            console=self._console(stderr=True),
            disable=self._quiet or not sys.stderr.isatty(),
            transient=True,
        )

    def can_ask(self) -> bool:
        """Whether there is a person to ask."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def _draw(self, columns: Sequence[str], rows: list[list[Any]], *, choose: str = "") -> None:
        from lancespace_cli.render import draw

        left_out = draw(self._console(), columns, rows)
        if left_out:
            self.remark(f"Not shown, as they do not fit: {', '.join(left_out)} (use {choose}--json or a pipe).")

    def _console(self, *, stderr: bool = False) -> Console:
        from rich.console import Console

        return Console(stderr=stderr, no_color=self._no_color, highlight=False, soft_wrap=not stderr)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples: in a dict, of two columns with the same name only one is left."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def complain(message: str, *, as_json: bool, code: int, kind: str) -> None:
    """An error, in the form that the reader of the results expects."""
    plain_text = message if message.startswith("Usage: ") else f"Error: {message}"
    text = json.dumps({"error": message, "type": kind, "exit_code": code}) if as_json else plain_text
    sys.stderr.write(f"{text}\n")

"""What the command prints: results to standard output, everything else to standard error.

At a terminal results are tables with colours; into a pipe they are plain, one row a line with tabs between; with
``--json`` they are JSON either way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class Output:
    """Where and how results, remarks and progress appear."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, no_color: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._no_color = no_color or bool(os.environ.get("NO_COLOR"))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, header: bool = True) -> None:
        """Rows under titles; as JSON, a list of objects."""
        if self.as_json:
            self.json([dict(zip(columns, row, strict=True)) for row in rows])
        elif sys.stdout.isatty():
            self._drawn(columns, rows)
        else:
            titles = [columns] if header else []
            self.lines("\t".join(_plain(value) for value in row) for row in (*titles, *rows))

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
        self.lines(f"{name:<{width}}  {_plain(value)}" for name, value in shown.items())

    def rows(self, batches: Iterable[Any]) -> None:
        """Arrow record batches as they come; as JSON, an object a line."""
        if self.as_json:
            self.lines(json.dumps(row, default=_encoded) for batch in batches for row in batch.to_pylist())
            return
        columns: Sequence[str] | None = None
        if sys.stdout.isatty():
            whole = list(batches)
            columns = whole[0].schema.names if whole else []
            self._drawn(columns, (row.values() for batch in whole for row in batch.to_pylist()))
            return
        for batch in batches:
            if columns is None:
                columns = batch.schema.names
                self.lines(["\t".join(columns)])
            self.lines("\t".join(_plain(value) for value in row.values()) for row in batch.to_pylist())

    def json(self, value: Any) -> None:
        """One JSON document."""
        self.lines([json.dumps(value, indent=2, default=_encoded, ensure_ascii=False)])

    def lines(self, lines: Iterable[str]) -> None:
        """Plain text."""
        for line in lines:
            sys.stdout.write(f"{line}\n")

    def done(self, message: str, **fields: Any) -> None:
        """What was done: a remark for a person, the fields for a program."""
        if self.as_json:
            self.json(fields)
        else:
            self.remark(message)

    def remark(self, message: str) -> None:
        """A word to the person at the terminal, beside the results."""
        if not self.quiet and not self.as_json:
            sys.stderr.write(f"{message}\n")

    def progress(self) -> Progress:
        """A bar with rate and time left on standard error; it shows only at a terminal."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console(stderr=True),
            disable=self.quiet or not sys.stderr.isatty(),
            transient=True,
        )

    def can_ask(self) -> bool:
        """Whether there is a person to ask."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def _drawn(self, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            table.add_row(*(Text(_plain(value)) for value in row))
        self._console().print(table)

    def _console(self, *, stderr: bool = False) -> Console:
        from rich.console import Console

        return Console(stderr=stderr, no_color=self._no_color, highlight=False)


def complain(message: str, *, as_json: bool, code: int) -> None:
    """An error, in the form that the reader of the results expects."""
    text = json.dumps({"error": message, "exit_code": code}) if as_json else f"Error: {message}"
    sys.stderr.write(f"{text}\n")


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (Mapping, list, tuple, bool)):
        return json.dumps(value, default=_encoded, ensure_ascii=False)
    return str(value)


def _encoded(value: Any) -> Any:
    """What JSON has no form for."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return list(value)

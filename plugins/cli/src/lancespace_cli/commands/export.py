"""Rows out of tables: export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli.completion import choices
from lancespace_cli.options import Branch, Columns, Filter, Table, Tag, Version, moment
from lancespace_cli.parsing import parse_names
from lancespace_cli.sinks import FORMATS, SUFFIXES, delete, sink
from lancespace_cli.state import State, state_of
from lancespace_cli.values import counted, speed

if TYPE_CHECKING:
    import pyarrow as pa

app = typer.Typer()


@app.command()
def export(
    context: typer.Context,
    name: Table,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A file, or a folder with --rows-per-file; - is standard output.")
    ],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="What to write, if the target's name does not tell.",
            autocompletion=choices(*FORMATS),
        ),
    ] = None,
    rows_per_file: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Write a folder of files with N rows each.")
    ] = None,
    predicate: Filter = None,
    columns: Columns = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
) -> None:
    """Write rows to Parquet, CSV, JSON lines or Arrow files. Asks before it replaces one.

    Example: lancespace export sales.orders orders.parquet --filter "price > 100"
    """
    state = state_of(context)
    chosen = _format(target, kind)
    at = moment(state.namespace, name, version, tag, branch)
    total = state.namespace.count_table_rows(name, predicate=predicate, **at).count or 0
    if rows_per_file is None and target != "-" and Path(target).is_file():
        state.confirm(f"Replace the file {target}?")
    wanted = {"filter": predicate, "columns": parse_names(columns), **at}
    given = {key: value for key, value in wanted.items() if value is not None}
    with _place(target, is_folder=rows_per_file is not None):
        reader = state.namespace.table(name).query(**given)
        done = _write(state, reader, _targets(target, chosen, rows_per_file), chosen, f"export {name}", total)
    if target != "-":
        message = f"Exported {counted(done, 'row')} of {name} to {target}."
        state.output.done(message, name=name, rows=done, target=target)


def _format(target: str, kind: str | None) -> str:
    found = kind or SUFFIXES.get(Path(target).suffix.lower())
    if found not in FORMATS:
        raise typer.BadParameter(f"the format of {target!r} is not known: add --format {'|'.join(FORMATS)}")
    return found


@contextmanager
def _place(target: str, *, is_folder: bool) -> Iterator[None]:
    """See that there is a place for what is written; a folder that was made for nothing goes again."""
    if "://" in target or (target == "-" and not is_folder):
        yield
        return
    if target == "-":
        raise typer.BadParameter("--rows-per-file writes a folder, and standard output is none")
    folder = Path(target) if is_folder else Path(target).parent
    if not is_folder and not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: make it, or choose another target")
    if is_folder and folder.is_dir() and any(folder.iterdir()):
        raise typer.BadParameter(f"the folder {target} is not empty: choose another")
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not existed:
            folder.rmdir()
        raise


def _targets(target: str, kind: str, rows_per_file: int | None) -> Iterator[tuple[str, int | None]]:
    """The files to write one after the other, and how many rows each may have."""
    if rows_per_file is None:
        yield target, None
        return
    suffix = next(suffix for suffix, known in SUFFIXES.items() if known == kind)
    for number in numbers():
        yield f"{target.rstrip('/')}/part-{number:05}{suffix}", rows_per_file


def _write(
    state: State, reader: Any, targets: Iterator[tuple[str, int | None]], kind: str, title: str, total: int
) -> int:
    """Write all rows; if that fails, no file stays."""
    from lance_namespace import InvalidInputError

    from lancespace.authoring import translated

    batches, done = _Pieces(reader), 0
    written: list[str] = []
    with state.output.progress() as progress:
        bar = progress.add_task(title, total=total, rows="")
        try:
            while not written or batches.has_more():
                target, limit = next(targets)
                with (
                    translated(f"write {target}", missing=InvalidInputError),
                    sink(target, kind, reader.schema) as write,
                ):
                    for batch in batches.take(limit):
                        write(batch)
                        done += batch.num_rows
                        elapsed = progress.tasks[bar].elapsed or 0
                        progress.update(bar, completed=done, rows=speed(done, done / elapsed if elapsed else None))
                written.append(target)
        except BaseException:
            for target in written:
                delete(target)
            raise
    return done


class _Pieces:
    """The batches of a reader, cut to what a file may have."""

    def __init__(self, reader: Any) -> None:
        self._batches = iter(reader)
        self._rest: pa.RecordBatch | None = None

    def has_more(self) -> bool:
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            if self._rest is None:
                return False
        return True

    def take(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        """Batches with at most this number of rows in all; without one, all that are left."""
        left = limit
        while (left is None or left > 0) and self.has_more():
            assert self._rest is not None  # noqa: S101 - has_more says so
            piece = self._rest if left is None else self._rest.slice(0, left)
            self._rest = self._rest.slice(piece.num_rows)
            left = None if left is None else left - piece.num_rows
            yield piece

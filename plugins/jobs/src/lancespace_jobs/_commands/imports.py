"""Rows into tables: insert and import."""

from __future__ import annotations

from typing import Annotated

import typer

import lancespace_jobs as jobs
from lancespace_cli.authoring import NoWait, State, Table, choices, counted, run_job, speed, state_of
from lancespace_jobs._commands.standard_input import FORMATS, conformed, standard_input

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILES...", help="Files or folders, paths or URLs; - reads standard input."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        help="What the files are, if their names do not tell; json is an object a line.",
        autocompletion=choices(*FORMATS),
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the rows that are there. Asks first.")]


def insert(context: typer.Context, name: Table, files: Files, *, kind: Format = None, no_wait: NoWait = False) -> None:
    """Append rows to a table that is there, in one commit.

    Example: curl … | lancespace insert sales.orders - --format csv
    """
    state = state_of(context)
    state.namespace.table_exists(name)
    _bring(state, name, files, kind, overwrite=False, no_wait=no_wait)


def import_(
    context: typer.Context,
    name: Table,
    files: Files,
    *,
    kind: Format = None,
    overwrite: Overwrite = False,
    no_wait: NoWait = False,
) -> None:
    """Import files or folders, in one commit; a table that is not there is created.

    Example: lancespace import sales.orders january/*.parquet
    """
    state = state_of(context)
    _confirm(state, name, overwrite=overwrite)
    _bring(state, name, files, kind, overwrite=overwrite, no_wait=no_wait)


def _confirm(state: State, name: str, *, overwrite: bool) -> None:
    if overwrite and state.namespace.table(name).exists():
        state.confirm(f"Replace all rows of {name}?")


def _bring(state: State, name: str, files: list[str], kind: str | None, *, overwrite: bool, no_wait: bool) -> None:
    """Bring files or standard input into a table, all of it or nothing."""
    if kind is not None and kind not in FORMATS:
        raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, not {kind!r}")
    with jobs.leaving_no_trace(state.namespace, name) as trace:
        if files == ["-"]:
            return _insert_stream(state, name, kind, overwrite=overwrite)
        if "-" in files:
            raise typer.BadParameter("- stands alone: standard input and files are not mixed")
        mode, known = "overwrite" if overwrite else "append", None if kind is None else FORMATS[kind]
        submit = lambda: trace.of(jobs.import_files(state.namespace, name, files, format=known, mode=mode))  # noqa: E731
        return run_job(state, f"import into {name}", submit, no_wait=no_wait)


def _insert_stream(state: State, name: str, kind: str | None, *, overwrite: bool) -> None:
    if kind is None:
        raise typer.BadParameter(f"standard input has no name to go by: add --format {'|'.join(FORMATS)}")
    title = f"import into {name}"
    source = standard_input(kind)
    existing = jobs.TableSpec.of(state.namespace, name).latest()
    schema = source.schema if existing is None or overwrite else existing.schema
    seen = 0
    with state.output.progress() as progress:
        bar = progress.add_task(title, total=None, rows="")

        def count(rows: int) -> None:
            nonlocal seen
            seen += rows
            elapsed = progress.tasks[bar].elapsed or 0
            progress.update(bar, rows=speed(seen, seen / elapsed if elapsed else None))

        rows = conformed(source, schema, count)
        if existing is None:
            state.namespace.create_table(name, rows)
        else:
            state.namespace.insert_into_table(name, rows, mode="overwrite" if overwrite else "append")
    state.output.done(f"{title}: {counted(seen, 'row')}", name=name, rows=seen)

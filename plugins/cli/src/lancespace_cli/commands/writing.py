"""Rows into tables: insert, import, and import-spark of the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli.completion import choices
from lancespace_cli.options import Table
from lancespace_cli.records import records_of
from lancespace_cli.running import NoWait, run_job
from lancespace_cli.state import State, state_of
from lancespace_cli.streams import FORMATS, conformed, standard_input
from lancespace_cli.values import counted, speed

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.jobs import SubmittedJob

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


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(insert)
    app.command("import")(import_)


def insert(context: typer.Context, name: Table, files: Files, *, kind: Format = None, no_wait: NoWait = False) -> None:
    """Append rows to a table that is there, in one commit.

    Example: curl … | lancespace insert sales.orders - --format csv
    """
    state = state_of(context)
    state.namespace.table_exists(name)
    bring(state, name, files, kind, overwrite=False, no_wait=no_wait)


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
    bring(state, name, files, kind, overwrite=overwrite, no_wait=no_wait)


def import_spark(
    context: typer.Context,
    name: Table,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A table or view that Spark knows.")],
    *,
    query: Annotated[bool, typer.Option("--query", help="SOURCE is a query in Spark's SQL.")] = False,
    overwrite: Overwrite = False,
    vectors: Annotated[
        str | None, typer.Option(metavar="COLUMN:LENGTH,...", help="Arrays that are vectors in a new table.")
    ] = None,
    no_wait: NoWait = False,
) -> None:
    """Import what Spark reads, in one commit; a table that is not there is created. Needs lancespace[spark].

    Example: lancespace job import-spark sales.orders "SELECT * FROM parquet.`january/`" --query
    """
    from lancespace import registry

    registry.find(registry.ENGINES, "spark", wanted_by="job import-spark")
    from lancespace_spark import import_table
    from lancespace_spark.options import sizes

    state = state_of(context)
    lengths = None if vectors is None else sizes(vectors)
    _confirm(state, name, overwrite=overwrite)
    given: dict[str, Any] = {"query" if query else "source": source, "vectors": lengths}
    with leaving_no_trace(state.namespace, name) as trace:
        mode = "overwrite" if overwrite else "append"
        submit = lambda: trace.of(import_table(state.namespace, name, mode=mode, **given))  # noqa: E731
        run_job(state, f"import into {name}", submit, no_wait=no_wait)


def _confirm(state: State, name: str, *, overwrite: bool) -> None:
    if overwrite and state.namespace.table(name).exists():
        state.confirm(f"Replace all rows of {name}?")


def bring(state: State, name: str, files: list[str], kind: str | None, *, overwrite: bool, no_wait: bool) -> None:
    """Bring files or standard input into a table, all of it or nothing."""
    from lancespace import jobs

    if kind is not None and kind not in FORMATS:
        raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, not {kind!r}")
    with leaving_no_trace(state.namespace, name) as trace:
        if files == ["-"]:
            return _insert_stream(state, name, kind, overwrite=overwrite)
        if "-" in files:
            raise typer.BadParameter("- stands alone: standard input and files are not mixed")
        mode, known = "overwrite" if overwrite else "append", None if kind is None else FORMATS[kind]
        submit = lambda: trace.of(jobs.import_files(state.namespace, name, files, format=known, mode=mode))  # noqa: E731
        return run_job(state, f"import into {name}", submit, no_wait=no_wait)


class Trace:
    """The job that may leave something."""

    job_id: str | None = None

    def of(self, job: SubmittedJob) -> SubmittedJob:
        """Remember which one it is."""
        self.job_id = job.id
        return job


@contextmanager
def leaving_no_trace(ns: Namespace, name: str) -> Iterator[Trace]:
    """Give the name of a new table back if no row came to be in it: a failed import leaves the catalog as it was."""
    existed = ns.table(name).exists()
    trace = Trace()
    try:
        yield trace
    except BaseException:
        if not existed:
            _give_back(ns, name, trace.job_id)
        raise


def _give_back(ns: Namespace, name: str, job_id: str | None) -> None:
    """Take back the name of a table without data, and delete what a job kept for a repeat.

    The name stays if an equal job goes on from what the job wrote, or if another writer has files there.
    """
    from lancespace.handles import TableHandle
    from lancespace.jobs.reserving import take_back

    handle, records = TableHandle.of(ns, name), records_of(ns)
    if not ns.table(name).exists() or handle.latest() is not None:
        return
    if job_id is None:
        ns.drop_table(name)  # Rows of one request: what came of them has no job's mark.
    else:
        take_back(handle, None if records is None else records.forget_results_of(job_id))


def _insert_stream(state: State, name: str, kind: str | None, *, overwrite: bool) -> None:
    from lancespace.handles import TableHandle

    if kind is None:
        raise typer.BadParameter(f"standard input has no name to go by: add --format {'|'.join(FORMATS)}")
    title = f"import into {name}"
    source = standard_input(kind)
    existing = TableHandle.of(state.namespace, name).latest()
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

"""The sub-commands, a file for each group of them."""

from __future__ import annotations

import typer

from lancespace_cli.commands import (
    catalog,
    doctor,
    exporting,
    fsck,
    history,
    indexes,
    job,
    jobs,
    migrating,
    new_backend,
    operations,
    reading,
    refs,
    writing,
)

_IN_ORDER = (
    catalog, reading, writing, exporting, history, refs, indexes, job, jobs, migrating, doctor, fsck,
    new_backend, operations,
)  # fmt: skip


def add_all(app: typer.Typer) -> None:
    """Add them, in the order of the help."""
    for module in _IN_ORDER:
        module.add(app)

"""The command that this package adds to ``lancespace``: new-backend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lancespace_cli.authoring import state_of
from lancespace_testing.skeleton import write_backend


def new_backend(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What users will pass to connect, e.g. my-catalog.")],
    *,
    into: Annotated[Path, typer.Option(help="The directory in which the package's folder is made.")] = Path(),
) -> None:
    """Write a package for a new backend, with tests and CI that pass from the first minute.

    Example: lancespace new-backend my-catalog
    """
    folder = str(write_backend(name, into))
    state_of(context).output.done(
        f'Wrote {folder}. Next: cd {folder} && pip install --editable ".[testing]" && pytest', folder=folder
    )

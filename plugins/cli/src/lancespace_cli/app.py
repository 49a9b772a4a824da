"""The command and its sub-commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli import commands
from lancespace_cli.output import Output
from lancespace_cli.state import State

HELP = """Look into, change and keep in order a Lance namespace.

Which one: --root DIR_OR_URL for a directory catalog, --profile NAME for one of the config file, or the variables
LANCESPACE_ROOT and LANCESPACE_PROFILE.
"""

Root = Annotated[
    str | None, typer.Option(help="The directory catalog to use: a path or a URL such as s3://bucket/lake.")
]
Profile = Annotated[str | None, typer.Option(help="The profile of the config file to use.")]
Backend = Annotated[str | None, typer.Option(help="The backend to connect with, e.g. dir or rest.")]
Given = Annotated[
    list[str] | None,
    typer.Option("--property", "-P", metavar="NAME=VALUE", help="A property of the connection; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: one document, or for rows one object a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results only: no progress, no remarks.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (also: the variable NO_COLOR).")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before something is destroyed.")]


def build() -> typer.Typer:
    """The whole command, with what installed plugins add to it."""
    app = typer.Typer(
        help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=True
    )
    app.callback()(_start)
    commands.add_all(app)
    return app


def _start(
    context: typer.Context,
    *,
    root: Root = None,
    profile: Profile = None,
    backend: Backend = None,
    given: Given = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    yes: Yes = False,
) -> None:
    """What every command starts with."""
    output = Output(as_json=as_json, quiet=quiet, no_color=no_color)
    state = State(output, root=root, profile=profile, backend=backend, given=given or [], assume_yes=yes)
    context.obj = state
    context.call_on_close(state.close)

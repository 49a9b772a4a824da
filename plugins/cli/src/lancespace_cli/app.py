"""The command and its sub-commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli.commands import catalog, doctor, export, history, indexes, operations, queries, refs
from lancespace_cli.completion import profiles
from lancespace_cli.plugins import WithPlugins
from lancespace_cli.state import state_of

HELP = """Look into, change and keep in order a Lance namespace.

Which one: --root DIR_OR_URL for a directory catalog, --profile NAME for one of the config file, or the variables
LANCESPACE_ROOT and LANCESPACE_PROFILE. These options may also stand after the command.

Example: lancespace --root ./lake tree
"""

Root = Annotated[
    str | None, typer.Option(help="The directory catalog to use: a path or a URL such as s3://bucket/lake.")
]
Profile = Annotated[str | None, typer.Option(help="The profile of the config file to use.", autocompletion=profiles)]
Backend = Annotated[str | None, typer.Option(help="The backend to connect with, e.g. dir or rest.")]
Given = Annotated[
    list[str] | None,
    typer.Option("--property", "-P", metavar="NAME=VALUE", help="A property of the connection; may be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: one document, or for rows one object a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results only: no progress, no remarks.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (also: the variable NO_COLOR).")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before something is destroyed.")]
Version = Annotated[bool, typer.Option("--version", help="Show the version and exit.")]


def build() -> typer.Typer:
    """The whole command, with what installed plugins add to it."""
    app = typer.Typer(
        cls=WithPlugins,
        help=HELP,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=True,
    )
    app.callback()(_start)
    for module in (catalog, queries, export, history, refs, indexes, doctor, operations):
        app.add_typer(module.app)
    return app


def _start(
    context: typer.Context,
    *,
    root: Root = None,  # noqa: ARG001 - taken from the context, with the others
    profile: Profile = None,  # noqa: ARG001
    backend: Backend = None,  # noqa: ARG001
    given: Given = None,  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    quiet: Quiet = False,  # noqa: ARG001
    no_color: NoColor = False,  # noqa: ARG001
    yes: Yes = False,  # noqa: ARG001
    version: Version = False,
) -> None:
    """What every command starts with."""
    state = state_of(context)
    state.configure(context.params)
    if version:
        from lancespace import __version__

        state.output.done(f"lancespace {__version__}", version=__version__)
    elif context.invoked_subcommand is None:
        state.output.lines([context.get_help()])

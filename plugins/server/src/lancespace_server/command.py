"""``lancespace serve``: the server as a command of the ``lancespace`` command line."""

from __future__ import annotations

from typing import Any

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    "serve",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def serve(context: typer.Context) -> None:
    """Serve a namespace as a Lance REST catalog.

    Takes what ``python -m lancespace_server`` takes; without a backend, it serves the catalog that ``--root`` or
    ``--profile`` names.
    """
    from lancespace_server.__main__ import main

    raise typer.Exit(main(_arguments(context.obj, context.args), context.command_path))


def _arguments(state: Any, given: list[str]) -> list[str]:
    """The server's arguments; its backend comes first, and is no option."""
    if given and not given[0].startswith("-"):
        return given
    if "--help" in given:
        return ["--help"]
    backend, properties = state.catalog()
    return [backend, *(f"{name}={value}" for name, value in properties.items()), *given]

"""Small languages of the command line."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def parse_properties(given: Iterable[str]) -> dict[str, str]:
    """``name=value`` pairs."""
    properties = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not of the form NAME=VALUE")
        properties[name] = value
    return properties

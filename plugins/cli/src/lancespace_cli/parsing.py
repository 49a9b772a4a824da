"""Small languages of the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import typer

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_properties(given: Iterable[str]) -> dict[str, str]:
    """``name=value`` pairs."""
    properties = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not of the form NAME=VALUE")
        properties[name] = value
    return properties


def parse_values(given: Iterable[str]) -> dict[str, Any]:
    """``name=value`` pairs where a value may be a number, true or false; anything else is text."""
    return {name: _value(text) for name, text in parse_properties(given).items()}


def parse_age(text: str) -> timedelta:
    """``30s``, ``15m``, ``12h`` or ``7d``."""
    found = re.fullmatch(r"(\d+)([smhd])", text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not an age: write e.g. 30s, 15m, 12h or 7d")
    return timedelta(**{_UNITS[found.group(2)]: int(found.group(1))})


def parse_names(text: str | None) -> list[str] | None:
    """Names, comma separated."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def parse_vector(text: str | None) -> list[float] | None:
    """Numbers, comma separated, with or without brackets."""
    if text is None:
        return None
    try:
        return [float(number) for number in json.loads(f"[{text.strip().strip('[]')}]")]
    except (ValueError, TypeError):
        raise typer.BadParameter("--vector takes numbers, comma separated, e.g. 0.1,0.2,0.3") from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

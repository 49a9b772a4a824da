"""The kinds of values that storage options have.

Each function reads a property's text, or raises a ``ValueError`` that says what it must be and never repeats the text:
it may be a secret. Lance wants durations with a unit, fsspec wants seconds; both are read, and either is written.
"""

from __future__ import annotations

import re
from datetime import timedelta

Value = str | bool | int | timedelta

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)(?:ec|in|r)?s?\s*")


def boolean(text: str) -> bool:
    """``true`` or ``false``, also ``1`` or ``0``."""
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise ValueError("must be 'true' or 'false'") from None


def integer(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("must be a whole number") from None


def duration(text: str) -> timedelta:
    """``30s``, ``1m 30s``, ``500ms``; a bare number is seconds."""
    written = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", written):
        return timedelta(seconds=float(written))
    if not re.fullmatch(rf"({_AMOUNT.pattern})+", written):
        raise ValueError("must be a duration such as '30s', '1m 30s' or '500ms'")
    return timedelta(seconds=sum(float(amount) * _UNITS[unit] for amount, unit in _AMOUNT.findall(written)))


def url(text: str) -> str:
    """An HTTP(S) URL, without a slash at the end."""
    if not re.match(r"https?://[^/\s]", text):
        raise ValueError("must be a URL that begins with https:// or http://")
    return text.rstrip("/")


def for_lance(value: Value) -> str:
    """The value as pylance takes it: everything is text, and durations have a unit."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return f"{value // timedelta(milliseconds=1)}ms"
    return str(value)


def for_fsspec(value: Value) -> str | bool | int | float:
    """The value as fsspec takes it: a duration is seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else value

"""Values as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

_LONGEST_TEXT = 60
_LONGEST_LIST = 4
_LONGEST_FIGURE = 12
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def plain(value: Any) -> str:
    """A value whole, on one line."""
    if value is None:
        return ""
    if isinstance(value, (Mapping, list, tuple, bool)):
        return to_json(value)
    if isinstance(value, (bytes, datetime, date, time, timedelta)):
        return str(encoded(value))
    return str(value).translate(_ESCAPES)


def short(value: Any) -> str:
    """A value for a person to glance at: vectors and long texts are cut."""
    if isinstance(value, (list, tuple)) and len(value) > _LONGEST_LIST:
        first = ", ".join(_rounded(item) for item in value[: _LONGEST_LIST - 1])
        return f"[{first}, … {len(value)} in all]"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_rounded(item) for item in value)}]"
    text = _figure(value) if isinstance(value, float) else plain(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON."""
    return json.dumps(value, indent=indent, default=encoded, ensure_ascii=False)


def distinct(names: Sequence[str]) -> list[str]:
    """Keys for the columns of a result, which may have two of the same name: the second `id` is `id_2`."""
    keys: list[str] = []
    for name in names:
        spellings = (name if number == 1 else f"{name}_{number}" for number in count(1))
        keys.append(next(key for key in spellings if key not in keys))
    return keys


def counted(number: int, noun: str) -> str:
    """So many of them: `1 row`, `2 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def speed(rows: int, rate: float | None, noun: str = "row") -> str:
    """How far something is: rows or whatever it goes through, and how many a second."""
    return counted(rows, noun) + (f", {rate:,.0f} {noun}s/s" if rate else "")


def encoded(value: Any) -> Any:
    """What JSON has no form for."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return list(value)


def _figure(value: float) -> str:
    """Without the digits that only say how computers count."""
    return text if len(text := str(value)) <= _LONGEST_FIGURE else f"{value:.10g}"


def _rounded(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else short(value)

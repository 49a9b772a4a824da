"""Conditions on floating-point numbers and timestamps, as ranges that hold every row for which Spark's condition does.

The two sides differ: in the order of 0.0, -0.0 and NaN, in how a number is rounded to the type of its column, in the
time zone of a text, and in what is cut off of a finer timestamp. So a range is a little wider than what was asked for,
and Spark, which looks at the rows again, leaves out the rest.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lancespace_spark.catalyst import Node

FLOATS = frozenset({"float", "double"})
TIMES = frozenset({"timestamp", "timestamp_ntz"})
_ROUNDING, _LEAST = 1e-6, 1e-30
"""What a number may be off by: a part of it, and so much near zero; both are more than a 32-bit number's precision."""
_ZONES = dt.timedelta(days=2)
"""Further than any two time zones are apart."""
_YEARS = range(1700, 2200)
"""Those that a timestamp of any precision can have."""
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone is counted from it


@dataclass(frozen=True)
class Range:
    """Two literals of Lance's SQL, and all between them."""

    low: str
    high: str


def around(literals: Sequence[Node]) -> Range | None:
    """The range of some literals of one type; None if one of them has no certain place in Lance."""
    found = [_around(one) for one in literals]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    is_number = literals[0].fields["dataType"] in FLOATS
    low, high = min(low for low, _ in known), max(high for _, high in known)
    return Range(*((repr(low), repr(high)) if is_number else (f"timestamp '{low}'", f"timestamp '{high}'")))


def compared(kind: str, column: str, value: Node) -> str | None:
    """A comparison, by its name in Catalyst; None if it has no certain equal."""
    found = around([value])
    if found is None:
        return None
    if kind == "EqualTo":
        return within(column, found)
    if kind in {"LessThan", "LessThanOrEqual"}:
        return f"({column} <= {found.high})"
    largest = f" OR isnan({column})" if value.fields["dataType"] in FLOATS else ""
    return f"({column} >= {found.low}{largest})"


def within(column: str, found: Range) -> str:
    """The condition that a column is in a range."""
    return f"({column} >= {found.low} AND {column} <= {found.high})"


def _around(literal: Node) -> tuple[float, float] | tuple[dt.datetime, dt.datetime] | None:
    value, kind = literal.fields.get("value"), literal.fields.get("dataType")
    if literal.kind != "Literal" or value is None or kind not in FLOATS | TIMES:
        return None
    return _number(float(value)) if kind in FLOATS else _moment(str(value))


def _number(value: float) -> tuple[float, float] | None:
    off = abs(value) * _ROUNDING + _LEAST
    return (value - off, value + off) if math.isfinite(value + off) and math.isfinite(value - off) else None


def _moment(value: str) -> tuple[dt.datetime, dt.datetime] | None:
    """Catalyst writes a moment as text in the session's zone, and one without a zone in microseconds."""
    try:
        is_count = value.removeprefix("-").isdigit()
        moment = _EPOCH + dt.timedelta(microseconds=int(value)) if is_count else dt.datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return None
    return (moment - _ZONES, moment + _ZONES) if moment.year in _YEARS else None

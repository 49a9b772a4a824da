"""The mark of a write in the commits of a table, by which a caller that lost the answer finds out what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_PREFIX = "lancespace.write."
_MESSAGE = "__lance_commit_message"
"""The property in which Lance keeps the message of a commit."""

_MARK: ContextVar[str | None] = ContextVar("lancespace_write", default=None)


@contextmanager
def marking(mark: str) -> Iterator[None]:
    """Rows that are appended, and tables that are created or overwritten, are committed with this mark."""
    token = _MARK.set(mark)
    try:
        yield
    finally:
        _MARK.reset(token)


def marks(**answer: int) -> dict[str, str]:
    """The properties for the transaction of the current write, with part of its answer; none if it has no mark."""
    mark = _MARK.get()
    return {} if mark is None else {_PREFIX + mark: json.dumps(answer)}


def message() -> str | None:
    """The mark as the message of a commit, for commits that take no properties."""
    mark = _MARK.get()
    return None if mark is None else _PREFIX + mark


def marked(mark: str, properties: Mapping[str, str]) -> dict[str, int] | None:
    """Part of the answer to the write that was committed with these properties; None if that was another write."""
    if properties.get(_MESSAGE) == _PREFIX + mark:
        return {}
    answer = properties.get(_PREFIX + mark)
    return None if answer is None else json.loads(answer)

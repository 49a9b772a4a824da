"""The options of the data source: its own, and the properties of the namespace, which keep their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lance_namespace import InvalidInputError

from lancespace.authoring import identifiers
from lancespace_jobs import TableSpec

_NAME = re.compile(r"\s*`((?:[^`]|``)+)`\s*|([^,]+)")


def _names(text: str) -> list[str]:
    """Names between commas; one that has a comma itself stands in backticks."""
    pairs = (found.groups() for found in _NAME.finditer(text))
    names = (quoted.replace("``", "`") if quoted else plain.strip() for quoted, plain in pairs)
    return [name for name in names if name]


def _vector(text: str) -> list[float]:
    return [float(number) for number in text.strip().strip("[]").split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def sizes(text: str) -> dict[str, int]:
    """How long the vectors of columns are: ``embedding:16``."""
    pairs = (pair.partition(":") for pair in _names(text))
    told = {name.strip(): int(size) for name, _, size in pairs if size.strip().isdigit()}
    if len(told) < len(_names(text)) or 0 in told.values():
        raise InvalidInputError(f"the option 'vectors' needs the length of each column, as in v:768; it is {text!r}")
    return told


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


OWN: dict[str, Callable[[str], Any]] = {
    # Which rows and columns to read.
    "version": int,
    "since_version": int,
    "tag": str,
    "branch": str,
    "columns": _names,
    "filter": str,
    "vector": _vector,
    "vector_column": str,
    "full_text_query": str,
    "k": int,
    # How to read.
    "partition_rows": int,
    "partitions": int,
    "batch_size": int,
    "fragments": _numbers,  # Given by pipelines.
    # How to write.
    "max_rows_per_file": int,
    "max_bytes_per_file": int,
    "vectors": sizes,
    "create": _flag,
    # Streams.
    "starting_version": int,
    "max_versions_per_trigger": int,
    "stream_id": str,
    "batch": int,
    "skip_changes": _flag,
}
"""The options of the source itself, and how their text is read."""

SPARKS = frozenset({"checkpointlocation", "path"})
"""Options that Spark adds by itself."""


@dataclass(frozen=True)
class SourceOptions:
    """What the options say, checked."""

    handle: TableSpec
    given: Mapping[str, Any]
    checkpoint: str | None = None

    def get(self, name: str) -> Any:
        """The value of one of the source's own options; None if it was not given."""
        return self.given.get(name)

    @property
    def version(self) -> int | str | None:
        """The version or tag to read."""
        found: int | str | None = self.get("version") or self.get("tag")
        return found

    @property
    def vectors(self) -> dict[str, int]:
        """How long the vectors of columns are."""
        return self.get("vectors") or {}

    @property
    def search(self) -> dict[str, Any]:
        """The fields of a vector or full-text query; empty if it is none."""
        names = ("vector", "vector_column", "full_text_query", "k")
        return {name: self.get(name) for name in names if self.get(name) is not None}


def parse(options: Mapping[str, str]) -> SourceOptions:
    """Read the options that Spark hands over.

    Raises:
        InvalidInputError: If a needed one is missing, or one has no sense.
    """
    given = {name.lower(): value for name, value in options.items()}
    table = given.pop("table", None) or given.get("path")
    if not table:
        raise InvalidInputError("the data source 'lancespace' needs the option 'table', e.g. sales.orders")
    backend = given.pop("namespace", "dir")
    own = {name: _typed(name, given.pop(name)) for name in OWN if name in given}
    _check(own)
    checkpoint = given.get("checkpointlocation")
    properties = {name: value for name, value in given.items() if name not in SPARKS}
    return SourceOptions(TableSpec(backend, properties, tuple(identifiers.parse(table))), own, checkpoint)


def _check(own: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing alone, or contradict each other."""
    is_search = "vector" in own or "full_text_query" in own
    for name in ("k", "vector_column"):
        if name in own and not is_search:
            raise InvalidInputError(f"the option {name!r} is part of a search: give 'vector' or 'full_text_query', too")
    if "tag" in own and ("version" in own or "branch" in own):
        raise InvalidInputError("a tag names a version and a branch: leave out 'version' and 'branch', or 'tag'")


def _typed(name: str, text: str) -> Any:
    try:
        return OWN[name](text)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"the option {name!r} cannot be {text!r}") from error

"""Which columns of a version of a table a read is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lance_namespace import TableColumnNotFoundError

from lancespace_spark.predicates import quoted

if TYPE_CHECKING:
    import lance

ROW_NUMBERS = ("_rowid", "_rowaddr")
"""Columns that every table has, for those who ask for them by name."""


def matched(names: Iterable[str], dataset: lance.LanceDataset) -> dict[str, str]:
    """The names of a read that the version has, and what it calls them: Spark does not tell ``ID`` from ``id``."""
    there = {name: name for name in (*dataset.schema.names, *ROW_NUMBERS)}
    alike: dict[str, list[str]] = {}
    for name in there:
        alike.setdefault(name.lower(), []).append(name)
    found = {name: there.get(name) or _only(alike.get(name.lower(), [])) for name in names}
    return {name: stored for name, stored in found.items() if stored is not None}


def projection(found: Mapping[str, str]) -> list[str] | dict[str, str]:
    """The same as Lance takes it: names, or expressions where a name is to be another one."""
    if all(name == stored for name, stored in found.items()):
        return list(found)
    return {name: quoted(stored) for name, stored in found.items()}


def check(names: Iterable[str], dataset: lance.LanceDataset, latest: lance.LanceDataset) -> None:
    """Refuse columns that a version lacks, unless the table got them later: then its rows have nulls there.

    Raises:
        TableColumnNotFoundError: Naming the columns, and those that there are.
    """
    found, later = matched(names, dataset), matched(names, latest)
    known = {field.id() for field in dataset.lance_schema.fields()}
    added = {field.name() for field in latest.lance_schema.fields() if field.id() not in known}
    unknown = [name for name in names if name not in found and later.get(name) not in added]
    if unknown:
        raise TableColumnNotFoundError(
            f"version {dataset.version} of the table has no column {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(dataset.schema.names)}. If it was renamed or dropped, load the table again"
        )


def _only(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None

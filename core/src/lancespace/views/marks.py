"""What says that a table is a view: a property in the catalog, and the definition in the table's own metadata.

The catalog's property is small and found without opening the table; from it the catalog knows which tables a view
depends on. The definition is the request that created the view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lance_namespace import InvalidTableStateError

from lancespace import identifiers

PROPERTY = "lancespace.view"
"""Of the table in the catalog."""
DEFINITION = "lancespace.view.definition"
"""In the metadata of the Lance table."""


@dataclass(frozen=True)
class View:
    """A view as the catalog knows it."""

    names: tuple[str, ...]
    kind: str
    sources: tuple[tuple[str, ...], ...]
    auto_refresh: bool = False

    @property
    def properties(self) -> dict[str, str]:
        """What the catalog keeps with the table."""
        joined = [identifiers.join(source) for source in self.sources]
        mark = {"kind": self.kind, "sources": joined, "auto_refresh": self.auto_refresh}
        return {PROPERTY: json.dumps(mark, separators=(",", ":"))}


def view_of(names: Sequence[str], properties: Mapping[str, str] | None) -> View | None:
    """The view that a table's properties tell of, or None for any other table."""
    text = (properties or {}).get(PROPERTY)
    if text is None:
        return None
    try:
        mark = json.loads(text)
        sources = tuple(tuple(identifiers.split(source)) for source in mark["sources"])
        return View(tuple(names), str(mark["kind"]), sources, bool(mark["auto_refresh"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidTableStateError(
            f"The property {PROPERTY!r} of {identifiers.show(names)!r} is not what lancespace writes."
        ) from error


def base_objects(properties: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The joined identifiers of the tables that a view is made from, or None for any other table."""
    view = view_of((), properties)
    return None if view is None else tuple(identifiers.join(source) for source in view.sources)


def in_use(names: Sequence[str], views: Sequence[Sequence[str]]) -> InvalidTableStateError:
    """The refusal of a change that would take away what views are made from."""
    shown = ", ".join(repr(identifiers.show(view)) for view in sorted(map(tuple, views)))
    return InvalidTableStateError(
        f"{identifiers.show(names)!r} stays as it is, since materialized views are made from it: {shown}. Drop them "
        "first, or all together by a drop_namespace with the behavior 'Cascade'."
    )

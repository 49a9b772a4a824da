"""What says that a table is a view: a property in the catalog, and the definition in the table's own metadata.

The catalog's property is small and found without opening the table; from it the catalog knows which tables a view
depends on. The definition is the request that created the view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lance_namespace import InvalidTableStateError

from lancespace.authoring import Principal, identifiers

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
    creator: Principal | None = None
    """With whose rights it is refreshed; None if callers were not identified when it was created."""

    @property
    def properties(self) -> dict[str, str]:
        """What the catalog keeps with the table."""
        joined = [identifiers.join(source) for source in self.sources]
        mark: dict[str, Any] = {"kind": self.kind, "sources": joined, "auto_refresh": self.auto_refresh}
        if self.creator is not None:
            mark["creator"] = self.creator._asdict()
        return {PROPERTY: json.dumps(mark, separators=(",", ":"))}


def view_of(names: Sequence[str], properties: Mapping[str, str] | None) -> View | None:
    """The view that a table's properties tell of, or None for any other table."""
    text = (properties or {}).get(PROPERTY)
    if text is None:
        return None
    try:
        mark = json.loads(text)
        sources = tuple(tuple(identifiers.split(source)) for source in mark["sources"])
        creator = Principal.of(mark.get("creator"))
        return View(tuple(names), str(mark["kind"]), sources, bool(mark["auto_refresh"]), creator)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTableStateError(
            f"The property {PROPERTY!r} of {identifiers.show(names)!r} is not what lancespace writes: drop the table, "
            "or restore the property from a backup."
        ) from error


def base_objects(properties: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The joined identifiers of the tables that a view is made from, or None for any other table."""
    view = view_of((), properties)
    return None if view is None else tuple(identifiers.join(source) for source in view.sources)


class SourceInUseError(InvalidTableStateError):
    """The refusal of a change that would take away what views are made from."""

    def __init__(self, names: Sequence[str], views: Sequence[Sequence[str]], *, is_complete: bool = True) -> None:
        """``is_complete`` says that there are no other views than those to be named."""
        shown = ", ".join(repr(identifiers.show(view)) for view in sorted(map(tuple, views)))
        others = "" if is_complete else "and others you may not see" if shown else "all of which you may not see"
        super().__init__(
            f"{identifiers.show(names)!r} stays as it is, since materialized views are made from it: "
            f"{' '.join(filter(None, (shown, others)))}. Drop them first, or all together by a "
            "drop_namespace with the behavior 'Cascade'."
        )
        self.names = names
        self.views = views

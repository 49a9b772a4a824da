"""What a directory catalog knows of a table, in either mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Names = list[str]


@dataclass(frozen=True)
class CatalogEntry:
    """Where a table is, and what the catalog knows of it."""

    location: str
    """Relative to the root."""
    properties: Mapping[str, str] | None = None
    """None where the catalog cannot keep any."""
    is_managed: bool = False
    """Whether the catalog keeps the table's versions, too."""
    is_new: bool = False
    """Whether the location was made up for this table, so that no other can have it."""

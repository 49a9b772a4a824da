"""Why the names of a statement could not be resolved, which DataFusion does not pass on whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_namespace import LanceNamespaceError


@dataclass
class Notes:
    """What went wrong while one statement was planned."""

    missing: dict[str, tuple[list[str], LanceNamespaceError]] = field(default_factory=dict)
    """Tables that are not there: the identifier and the error, by the name that DataFusion's message gives."""
    raised: list[LanceNamespaceError] = field(default_factory=list)
    """What table functions raised; DataFusion makes a text of it."""

"""What a pipeline file says, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lancespace.authoring import fingerprint


@dataclass(frozen=True)
class Step:
    """One step: what it reads, what it writes, and how."""

    name: str
    kind: str
    fields: Mapping[str, Any]
    after: tuple[str, ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """A field of the step."""
        return self.fields.get(name, default)

    @property
    def reads(self) -> str | None:
        """The table whose changes the step works on; files and views have their own ways to know what is new."""
        found: str | None = self.get("from") or self.get("table")
        return found

    @property
    def writes(self) -> str:
        """The table or view that it fills."""
        return str(self.get("into") or self.get("view") or self.get("table"))

    @property
    def mode(self) -> str:
        """How rows get into the table: by key if there is one."""
        return str(self.get("mode") or ("upsert" if self.get("key") else "append"))

    @property
    def appends(self) -> bool:
        """Whether a repeat of it would add rows once more."""
        return "into" in self.fields and self.mode == "append"

    def fingerprint(self) -> str:
        """Changes when the step means something else; then what it did before does not count."""
        return fingerprint("step", self.kind, dict(self.fields))


@dataclass(frozen=True)
class Pipeline:
    """Steps in the order in which they run, on one catalog."""

    name: str
    backend: str
    properties: Mapping[str, str] = field(repr=False)
    spark: Mapping[str, str]
    steps: tuple[Step, ...]
    folder: str
    """Where the file is: relative paths and modules of functions are looked for there."""

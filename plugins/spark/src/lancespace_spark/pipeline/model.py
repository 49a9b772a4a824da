"""What a pipeline file says, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from lance_namespace import InvalidInputError

from lancespace.engines import fingerprint

KINDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "ingest": (frozenset({"files", "into"}), frozenset({"format", "mode"})),
    "transform": (
        frozenset({"from", "into"}),
        frozenset({"sql", "function", "schema", "vectors", "mode", "key"}),
    ),
    "index": (frozenset({"table", "column", "type"}), frozenset({"index", "options"})),
    "view": (frozenset({"view", "sql"}), frozenset()),
    "compact": (frozenset({"table"}), frozenset({"target_rows_per_fragment"})),
    "clean_up": (frozenset({"table"}), frozenset({"older_than_days"})),
}
"""Kinds of steps, with the fields that each needs and those that it may have."""
ALIASES = {"clean": "transform", "embed": "transform", "upsert": "transform"}
"""Other names for a kind, for files that read better by them."""
MODES = ("append", "overwrite", "upsert")
COMMON = frozenset({"name", "kind", "after"})


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
    def writes(self) -> str | None:
        """The table or view that it fills."""
        found: str | None = self.get("into") or self.get("view") or self.get("table")
        return found

    @property
    def mode(self) -> str:
        """How rows get into the table: by key if there is one."""
        return str(self.get("mode") or ("upsert" if self.get("key") else "append"))

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


def check_step(number: int, given: Any) -> Step:
    """One entry of ``step``.

    Raises:
        InvalidInputError: If something is missing, unknown or of the wrong type; the message names the step.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"step {number} must be a table of fields, not {type(given).__name__}")
    name = given.get("name") or f"step {number}"
    kind = _kind(str(name), given.get("kind"))
    needed, optional = KINDS[kind]
    _check_fields(str(name), kind, set(given), needed, optional)
    fields = {key: value for key, value in given.items() if key not in COMMON}
    _check_transform(str(name), kind, fields)
    return Step(str(name), kind, fields, tuple(_texts(str(name), "after", given.get("after", ()))))


def _kind(name: str, given: object) -> str:
    known = (*KINDS, *ALIASES)
    if not isinstance(given, str) or given not in known:
        near = get_close_matches(str(given), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(f"step {name!r}: kind must be one of {', '.join(known)}, not {given!r}.{hint}")
    return ALIASES.get(given, given)


def _check_fields(name: str, kind: str, given: set[str], needed: frozenset[str], optional: frozenset[str]) -> None:
    missing = sorted(needed - given)
    if missing:
        raise InvalidInputError(f"step {name!r}: a step of kind {kind!r} needs {', '.join(map(repr, missing))}")
    for unknown in sorted(given - needed - optional - COMMON):
        near = get_close_matches(unknown, sorted(needed | optional | COMMON), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(f"step {name!r}: a step of kind {kind!r} has no field {unknown!r}.{hint}")


def _check_transform(name: str, kind: str, fields: Mapping[str, Any]) -> None:
    if "mode" in fields and fields["mode"] not in MODES:
        raise InvalidInputError(f"step {name!r}: mode must be one of {', '.join(MODES)}, not {fields['mode']!r}")
    if kind != "transform":
        return
    if ("sql" in fields) == ("function" in fields):
        raise InvalidInputError(f"step {name!r} needs either 'sql' or 'function'")
    if "function" in fields and "schema" not in fields:
        raise InvalidInputError(f"step {name!r}: 'function' needs 'schema', e.g. \"id long, vector array<float>\"")
    if fields.get("mode") == "upsert" and not fields.get("key"):
        raise InvalidInputError(f"step {name!r}: mode 'upsert' needs 'key', the columns that identify a row")
    _texts(name, "key", fields.get("key", ()))


def _texts(name: str, field_name: str, given: object) -> Sequence[str]:
    if isinstance(given, str) or not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
        raise InvalidInputError(f"step {name!r}: {field_name!r} must be a list of names")
    return list(given)

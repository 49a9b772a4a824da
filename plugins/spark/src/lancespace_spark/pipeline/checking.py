"""Whether a step makes sense; what does not is told by the step's name and the field's."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from lance_namespace import InvalidInputError

from lancespace_spark.pipeline.fields import ALIASES, COMMON, KINDS, Kind
from lancespace_spark.pipeline.model import Step


def check_step(number: int, given: Any) -> Step:
    """One entry of ``step``.

    Raises:
        InvalidInputError: If something is missing, unknown or of the wrong type; the message names the step.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"step {number} must be a table of fields, not {type(given).__name__}")
    name = given.get("name", f"step {number}")
    if not COMMON["name"].fits(name):
        raise InvalidInputError(f"step {number}: 'name' must be {COMMON['name'].wanted}, not {name!r}")
    kind = _kind(name, given.get("kind"))
    _check_fields(name, kind, given)
    fields = {key: value for key, value in given.items() if key not in COMMON}
    _check_mode(name, KINDS[kind], fields)
    if kind == "transform":
        _check_transform(name, fields)
    return Step(name, kind, fields, tuple(given.get("after", ())))


def _kind(name: str, given: object) -> str:
    known = (*KINDS, *ALIASES)
    if not isinstance(given, str) or given not in known:
        raise InvalidInputError(
            f"step {name!r}: kind must be one of {', '.join(known)}, not {given!r}.{_hint(str(given), known)}"
        )
    return ALIASES.get(given, given)


def _check_fields(name: str, kind: str, given: Mapping[str, Any]) -> None:
    known = {**KINDS[kind].fields, **COMMON}
    missing = sorted(KINDS[kind].needed.keys() - given.keys())
    if missing:
        raise InvalidInputError(f"step {name!r}: a step of kind {kind!r} needs {', '.join(map(repr, missing))}")
    for field, value in given.items():
        if field not in known:
            hint = _hint(str(field), tuple(known))
            raise InvalidInputError(f"step {name!r}: a step of kind {kind!r} has no field {field!r}.{hint}")
        if not known[field].fits(value):
            raise InvalidInputError(f"step {name!r}: {field!r} must be {known[field].wanted}, not {value!r}")


def _check_mode(name: str, kind: Kind, fields: Mapping[str, Any]) -> None:
    mode = fields.get("mode")
    if mode is None or mode in kind.modes:
        return
    hint = "; to upsert what is in files, have a transform with a 'key' after the ingest" if mode == "upsert" else ""
    raise InvalidInputError(f"step {name!r}: mode must be one of {', '.join(kind.modes)}, not {mode!r}{hint}")


def _check_transform(name: str, fields: Mapping[str, Any]) -> None:
    if ("sql" in fields) == ("function" in fields):
        raise InvalidInputError(f"step {name!r} needs either 'sql' or 'function'")
    if "function" in fields and "schema" not in fields:
        raise InvalidInputError(f"step {name!r}: 'function' needs 'schema', e.g. \"id long, vector array<float>\"")
    if fields.get("mode") == "upsert" and not fields.get("key"):
        raise InvalidInputError(f"step {name!r}: mode 'upsert' needs 'key', the columns that identify a row")
    if fields.get("key") and fields.get("mode", "upsert") != "upsert":
        raise InvalidInputError(f"step {name!r}: 'key' is for mode 'upsert', not {fields['mode']!r}: leave out one")
    if fields["from"] == fields["into"]:
        raise InvalidInputError(f"step {name!r}: 'from' and 'into' are the same table: fill another one")


def _hint(given: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(given, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""

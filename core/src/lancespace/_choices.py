"""Modes and behaviors: the spec's enumerations that travel as strings, in any case and style."""

from __future__ import annotations

from lance_namespace import InvalidInputError

CREATE_MODES = ("Create", "ExistOk", "Overwrite")
REGISTER_MODES = ("Create", "Overwrite")
INSERT_MODES = ("Append", "Overwrite")
DROP_MODES = ("Fail", "Skip")
DROP_BEHAVIORS = ("Restrict", "Cascade")


def choose(field: str, given: str | None, allowed: tuple[str, ...]) -> str:
    """The allowed value that was meant; ``exist_ok``, ``EXIST_OK`` and ``ExistOk`` are one. The first is the default.

    Raises:
        InvalidInputError: Naming the field and the allowed values.
    """
    if given is None:
        return allowed[0]
    plain = given.replace("_", "").lower()
    for value in allowed:
        if value.lower() == plain:
            return value
    raise InvalidInputError(f"{field} must be one of {', '.join(allowed)}, not {given!r}.")

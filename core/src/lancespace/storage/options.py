"""Storage options: one table per store, in every spelling users know.

Lance, object_store, fsspec and the vendors' SDKs each spell the same setting differently (``region``, ``aws_region``,
``AWS_REGION``, ``region_name``). A storage plugin writes one :class:`OptionTable`; the options for pylance and the arguments for
fsspec are both made from it, so that a setting reaches every path to the store or is refused, and is never silently dropped.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lance_namespace import InvalidInputError


@dataclass(frozen=True)
class Option:
    """One setting of a store."""

    name: str
    """Our name for it; it is a spelling too."""
    spellings: tuple[str, ...] = ()
    """Other names users know, compared without regard to case."""
    lance: str | None = None
    """pylance's name, or None if the setting does not concern it."""
    fsspec: str | None = None
    """fsspec's argument, dotted where nested (``client_kwargs.region_name``), or None if it does not concern it."""
    type: type[str | bool | int | float] = str
    """What fsspec's argument wants; pylance takes strings."""
    secret: bool = False


class OptionTable:
    """All settings of one store."""

    def __init__(self, store: str, options: Iterable[Option]) -> None:
        self.store = store
        self.options = {option.name: option for option in options}
        self._by_spelling: dict[str, Option] = {}
        for option in self.options.values():
            for spelling in (option.name, *option.spellings):
                other = self._by_spelling.setdefault(spelling.lower(), option)
                if other is not option:
                    raise ValueError(f"{store}: {spelling!r} is claimed by both {other.name!r} and {option.name!r}")

    def resolve(self, given: Mapping[str, str]) -> dict[str, str]:
        """The given options under our names.

        Raises:
            InvalidInputError: If an option is unknown, or given twice with different values.
        """
        found: dict[str, tuple[str, str]] = {}
        for spelling, value in given.items():
            option = self._by_spelling.get(spelling.lower()) or self._refuse(spelling)
            earlier = found.setdefault(option.name, (spelling, value))
            if earlier[1] != value:
                raise InvalidInputError(
                    f"The {self.store} option {option.name!r} is given twice with different values, "
                    f"as {earlier[0]!r} and as {spelling!r}: keep one."
                )
        return {name: value for name, (_, value) in found.items()}

    def for_lance(self, given: Mapping[str, str]) -> dict[str, str]:
        """The options as pylance's object store takes them."""
        resolved = self.resolve(given)
        return {key: value for name, value in resolved.items() if (key := self.options[name].lance) is not None}

    def for_fsspec(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The options as keyword arguments of the fsspec file system."""
        arguments: dict[str, Any] = {}
        for name, value in self.resolve(given).items():
            option = self.options[name]
            if option.fsspec is not None:
                _put(arguments, option.fsspec.split("."), self._typed(option, value))
        return arguments

    def _typed(self, option: Option, value: str) -> Any:
        if option.type is bool:
            if value.lower() not in {"true", "false", "1", "0"}:
                raise InvalidInputError(f"The {self.store} option {option.name!r} must be 'true' or 'false'.")
            return value.lower() in {"true", "1"}
        try:
            return option.type(value)
        except ValueError as error:
            raise InvalidInputError(f"The {self.store} option {option.name!r} must be a number.") from error

    def _refuse(self, spelling: str) -> Option:
        near = difflib.get_close_matches(spelling.lower(), self._by_spelling, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted(self.options)) or "none"
        raise InvalidInputError(f"{self.store} storage has no option {spelling!r}.{hint} Known: {known}.")


def _put(arguments: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        arguments = arguments.setdefault(key, {})
    arguments[path[-1]] = value

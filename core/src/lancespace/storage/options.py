"""Storage options: one table per store, in every spelling users know.

Lance, object_store, fsspec and the vendors' SDKs each spell the same setting differently (``region``, ``aws_region``,
``AWS_REGION``, ``region_name``). A storage plugin writes one :class:`OptionTable`; the options for pylance and the
arguments for fsspec are both made from it, so that a setting reaches every path to the store or is refused, and is
never silently dropped.
"""

from __future__ import annotations

import difflib
import os
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from lance_namespace import InvalidInputError

from lancespace.storage import elsewhere, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class Option:
    """One setting of a store: a row of the table.

    Its names in pylance and in fsspec are spellings too, unless another row claims them.
    """

    name: str
    """Our name for it; it is a spelling too."""
    spellings: tuple[str, ...] = ()
    """Other names users know, compared without regard to case."""
    lance: str | tuple[str, ...] | None = None
    """pylance's name (or names, where one is not enough), or None if the setting does not concern it.

    It must be the name under which pylance files what it finds in the environment: only then does a given option win.
    """
    fsspec: str | None = None
    """fsspec's argument, dotted where nested (``client_kwargs.region_name``), or None if it does not concern it."""
    type: Callable[[str], Any] = str
    """Reads the text that was given: ``str``, one of :mod:`lancespace.storage.values`, or one like those."""
    fsspec_value: Callable[[Any], Any] = values.for_fsspec
    """What fsspec is told; None leaves the argument out."""
    secret: bool = False
    """Found in the environment, a secret stays there: pylance reads it itself, and no table's options hand it out."""
    environment: tuple[str, ...] = ()
    """Variables that set the option where it is not given; the first that is set counts."""
    group: str = ""
    """Options of a group come from one place: if one is given, what is not may not come from the environment."""
    needs: tuple[str, ...] = ()
    """Options without which this one says nothing."""
    implies: Callable[[Any], Mapping[str, str]] | None = None
    """Options that follow from the value; an option without names of its own only stands for these."""
    note: str = ""
    """Why only one of pylance and fsspec is told."""
    refused: str = ""
    """Why the option is not taken and what to do instead; follows "option 'x' "."""
    harmless: bool = False
    """Whether a refused option is ignored with a warning, since nothing that is stored depends on it."""

    @property
    def lance_names(self) -> tuple[str, ...]:
        """The names in pylance, however many."""
        return (self.lance,) if isinstance(self.lance, str) else self.lance or ()


@dataclass(frozen=True)
class _Setting:
    """What an option was set to, and by what. Its value is not shown: it may be a secret."""

    option: Option
    value: Any = field(repr=False)
    source: str
    """For messages: ``option 'aws_region'`` or ``environment variable AWS_REGION``."""
    ambient: bool = False
    """Whether it comes from the environment."""
    implied: bool = False
    """Whether it follows from another option."""

    @property
    def for_lance(self) -> tuple[str, ...]:
        """The names under which pylance is told."""
        stays = self.ambient and self.option.secret and not self.implied
        return () if stays else self.option.lance_names


class OptionTable:
    """All settings of one store."""

    def __init__(self, store: str, options: Iterable[Option]) -> None:
        self.store = store
        self.options = {option.name: option for option in options}
        self._by_spelling: dict[str, Option] = {}
        for option in self.options.values():
            self._claim(option)
        for option in self.options.values():
            for name in filter(None, (*option.lance_names, option.fsspec)):
                self._by_spelling.setdefault(name.lower(), option)

    def for_lance(self, given: Mapping[str, str]) -> dict[str, str]:
        """The options as pylance's object store takes them.

        Raises:
            InvalidInputError: If an option is unknown, refused, ill-typed or incomplete, or contradicts another.
        """
        settings = self._settings(given).values()
        return self._told(
            (name, values.for_lance(setting.value), setting) for setting in settings for name in setting.for_lance
        )

    def for_fsspec(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The options as keyword arguments of the fsspec file system; raises as :meth:`for_lance` does."""
        settings = [setting for setting in self._settings(given).values() if setting.option.fsspec]
        told = self._told((s.option.fsspec or "", s.option.fsspec_value(s.value), s) for s in settings)
        arguments: dict[str, Any] = {}
        for name, value in told.items():
            _put(arguments, name.split("."), value)
        return arguments

    def resolve(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The typed values under our names, the environment's among them; raises as :meth:`for_lance` does."""
        return {name: setting.value for name, setting in self._settings(given).items()}

    def _claim(self, option: Option) -> None:
        reached = bool(option.lance_names) + bool(option.fsspec)
        if reached == 1 and not option.note:
            raise ValueError(f"{self.store}: only one of pylance and fsspec is told {option.name!r}; note why")
        if not (reached or option.implies or option.refused):
            raise ValueError(f"{self.store}: neither pylance nor fsspec is told {option.name!r}")
        for spelling in (option.name, *option.spellings):
            other = self._by_spelling.setdefault(spelling.lower(), option)
            if other is not option:
                raise ValueError(f"{self.store}: {spelling!r} is claimed by both {other.name!r} and {option.name!r}")

    def _settings(self, given: Mapping[str, str]) -> dict[str, _Setting]:
        found: dict[str, _Setting] = {}
        for spelling, text in given.items():
            option = self._by_spelling.get(spelling.lower())
            if option is None:
                self._refuse_unknown(spelling)
                continue
            if option.refused:
                self._refuse_option(option, spelling)
                continue
            self._enter(found, option, text, f"option {spelling!r}")
        for option in self.options.values():
            self._enter_environment(found, option)
        return {name: setting for name, setting in found.items() if self._is_complete(setting, found)}

    def _enter(self, found: dict[str, _Setting], option: Option, text: str, source: str, **origin: bool) -> None:
        try:
            value = option.type(text)
            implied = option.implies(value) if option.implies else {}
        except ValueError as error:
            raise InvalidInputError(f"{self.store} storage: {source} {error}.") from error
        setting = _Setting(option, value, source, **origin)
        earlier = found.setdefault(option.name, setting)
        if earlier.value != value and not setting.ambient:
            self._refuse(f"{earlier.source} and {source} set {option.name!r} to different values: keep one")
        for name, follows in implied.items():
            self._enter(found, self.options[name], follows, source, **{**origin, "implied": True})

    def _enter_environment(self, found: dict[str, _Setting], option: Option) -> None:
        variable = next((name for name in option.environment if os.environ.get(name)), None)
        if variable is None or option.name in found:
            return
        for setting in found.values():
            if option.group and setting.option.group == option.group and not setting.ambient:
                self._refuse(
                    f"{setting.source} is given, but pylance or fsspec would mix it with the environment variable "
                    f"{variable}: unset {variable}, or give {option.name!r} as an option too"
                )
        self._enter(found, option, os.environ[variable], f"environment variable {variable}", ambient=True)

    def _is_complete(self, setting: _Setting, found: Mapping[str, _Setting]) -> bool:
        """A variable that says nothing by itself is not meant for us; an option that says nothing is a mistake."""
        missing = [name for name in setting.option.needs if name not in found]
        if missing and not setting.ambient:
            self._refuse(f"{setting.source} needs {' and '.join(map(repr, missing))} too")
        return not missing

    def _told(self, rows: Iterable[tuple[str, Any, _Setting]]) -> dict[str, Any]:
        told: dict[str, tuple[Any, _Setting]] = {}
        for name, value, setting in rows:
            if value is None:
                continue
            earlier, teller = told.setdefault(name, (value, setting))
            if earlier != value:
                self._refuse(f"{teller.source} and {setting.source} exclude each other: keep one")
        return {name: value for name, (value, _) in told.items()}

    def _refuse(self, message: str) -> NoReturn:
        raise InvalidInputError(f"{self.store} storage: {message}.")

    def _refuse_option(self, option: Option, spelling: str) -> None:
        message = f"option {spelling!r} {option.refused}"
        if not option.harmless:
            self._refuse(message)
        warnings.warn(f"{self.store} storage: {message}.", UserWarning, stacklevel=2)

    def _refuse_unknown(self, spelling: str) -> None:
        """Warn of an option of another store, which Lance ignores too; anything else is likely a typing error.

        Raises:
            InvalidInputError: If no store has such an option.
        """
        if elsewhere.knows(spelling, self._by_spelling):
            message = f"{self.store} storage ignores the option {spelling!r}, which is one of another store: remove it."
            warnings.warn(message, UserWarning, stacklevel=2)
            return
        near = difflib.get_close_matches(spelling.lower(), self._by_spelling, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted(name for name, option in self.options.items() if not option.refused)) or "none"
        raise InvalidInputError(f"{self.store} storage has no option {spelling!r}.{hint} Known: {known}.")


def _put(arguments: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        arguments = arguments.setdefault(key, {})
    arguments[path[-1]] = value

"""Connection properties: what a plugin declares, and the checked values it gets.

Values are strings, as in the Rust implementation (``{"manifest_enabled": "true"}``), so that the same properties work
from a config file, an environment variable or another language. A plugin declares its properties once; what is
unknown or ill-typed is refused before anything is opened, naming what is known.
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True)
class Property:
    """One property a plugin understands.

    A name that ends in ``.`` declares a family: ``Property("storage.")`` takes ``storage.region`` and all its sisters.
    """

    name: str
    doc: str
    type: type[str | bool | int | float] = str
    default: str | bool | int | float | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    secret: bool = False
    identifies: bool = False
    """Whether it is part of what makes the namespace this namespace (its root, its URI) and so of ``namespace_id()``.
    """

    ignored: str = ""
    """Why the property has no effect and what to use instead; it is accepted, with a warning, for other clients' sake.
    """

    @property
    def is_family(self) -> bool:
        """Whether the name is a prefix for many properties."""
        return self.name.endswith(".")


class Settings(Mapping[str, Any]):
    """The checked, typed values of declared properties.

    ``settings["manifest_enabled"]`` is a bool if it was declared as one; a property that was not given has its
    default. ``repr`` never shows a secret.
    """

    def __init__(self, declared: Iterable[Property], given: Mapping[str, str], *, owner: str) -> None:
        self._declared = {prop.name: prop for prop in declared}
        self._owner = owner
        self._values = {prop.name: prop.default for prop in self._declared.values() if not prop.is_family}
        self._families: dict[str, dict[str, str]] = {name: {} for name, p in self._declared.items() if p.is_family}
        for name, value in given.items():
            self._take(name, value)
        self._check_required(given)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = {name: self._shown(name, value) for name, value in self._values.items() if value is not None}
        shown |= {f"{family}{name}": "***" for family, values in self._families.items() for name in values}
        return f"{self._owner}({', '.join(f'{name}={value}' for name, value in shown.items())})"

    def family(self, prefix: str) -> dict[str, str]:
        """What was given under a declared prefix, without the prefix: ``settings.family("storage.")``."""
        return dict(self._families[prefix])

    def declares(self, name: str) -> bool:
        """Whether a property or family of this name was declared at all."""
        return name in self._declared

    def identity(self) -> str:
        """The identifying properties as text, e.g. ``dir(root=/data)``; it is stable and has no secrets."""
        names = [prop.name for prop in self._declared.values() if prop.identifies]
        return f"{self._owner}({', '.join(f'{name}={self._shown(name, self._values[name])}' for name in names)})"

    def _shown(self, name: str, value: object) -> str:
        return "***" if self._declared[name].secret else redact_url(str(value))

    def _take(self, name: str, value: str) -> None:
        if name in self._values:
            self._warn_if_ignored(self._declared[name], name)
            self._values[name] = _typed(self._declared[name], value, self._owner)
            return
        family = next((prefix for prefix in self._families if name.startswith(prefix) and name != prefix), None)
        if family is None:
            self._refuse_unknown(name)
        self._warn_if_ignored(self._declared[family], name)
        self._families[family][name[len(family) :]] = _string(name, value, self._owner)

    def _warn_if_ignored(self, prop: Property, name: str) -> None:
        if prop.ignored:
            warnings.warn(f"{self._owner} ignores the property {name!r}: {prop.ignored}.", UserWarning, stacklevel=2)

    def _check_required(self, given: Mapping[str, str]) -> None:
        missing = [prop for prop in self._declared.values() if prop.required and not given.get(prop.name)]
        if missing:
            wanted = "; ".join(f"{prop.name!r} ({prop.doc})" for prop in missing)
            _refuse(f"{self._owner} needs the property {wanted}")

    def _refuse_unknown(self, name: str) -> NoReturn:
        known = sorted(f"{p.name}*" if p.is_family else p.name for p in self._declared.values())
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        _refuse(f"{self._owner} does not know the property {name!r}.{hint} Known: {', '.join(known) or 'none'}")


def dereference(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a command line or a config file, with secrets looked up where they are kept.

    The value ``@file:PATH`` is the content of a file without the line break at its end, ``@env:NAME`` that of an
    environment variable.

    Raises:
        InvalidInputError: Naming the property whose file or variable cannot be read.
    """
    return {name: _looked_up(name, value) for name, value in properties.items()}


def _looked_up(name: str, value: str) -> str:
    kind, _, place = value.partition(":")
    if kind == "@env":
        if place not in os.environ:
            _refuse(f"The property {name!r} comes from the environment variable {place!r}, which is not set: set it")
        return os.environ[place]
    if kind == "@file":
        try:
            return Path(place).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, ValueError) as error:
            _refuse(f"The property {name!r} comes from the file {place!r}, which cannot be read: {error}")
    return value


def checked(properties: object) -> dict[str, Any]:
    """The properties that a caller gave, which may be None; their values are checked by :class:`Settings`."""
    if properties is None:
        return {}
    if not isinstance(properties, Mapping):
        _refuse(f'Properties must be a dictionary, e.g. {{"root": "/data"}}, not {type(properties).__name__}')
    strangers = [name for name in properties if not isinstance(name, str)]
    if strangers:
        _refuse(f"Names of properties must be strings, not {type(strangers[0]).__name__}")
    return dict(properties)


def redact_url(text: str) -> str:
    """``text`` without the user and password that a URL in it may carry."""
    return _USER_INFO.sub("***@", text)


def _string(name: str, value: object, owner: str) -> str:
    """Paths, booleans and numbers are taken as well, since pylance takes the text of any object."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool | int | float):
        return _text_of(value)
    if not isinstance(value, str):
        _refuse(f"{owner}: the property {name!r} must be a string, not {type(value).__name__}: put it in quotes")
    return value


def _typed(prop: Property, value: object, owner: str) -> str | bool | int | float:
    text = _string(prop.name, value, owner) if prop.type is str else _text_of(value)
    shown = "***" if prop.secret else repr(text)
    if prop.choices and text not in prop.choices:
        _refuse(f"{owner}: the property {prop.name!r} must be one of {', '.join(prop.choices)}, not {shown}")
    try:
        return _boolean(text) if prop.type is bool else prop.type(text)
    except ValueError:
        _refuse(f"{owner}: the property {prop.name!r} must be {_EXPECTED[prop.type]}, not {shown}")


def _text_of(value: object) -> str:
    """Booleans and numbers are taken too: ``True`` is what ``"true"`` means."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in _TRUE | _FALSE:
        raise ValueError(text)
    return lowered in _TRUE


_EXPECTED: dict[type, str] = {bool: "'true' or 'false'", int: "a whole number", float: "a number", str: "text"}


def _refuse(message: str) -> NoReturn:
    from lance_namespace import InvalidInputError

    raise InvalidInputError(message)

"""API keys: a secret per caller, of which the server keeps only a hash."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lance_namespace import InvalidInputError

from lancespace_server.reloading import Reloaded
from lancespace_server.settings import API_KEYS_VARIABLE

_LINE = re.compile(r"(?P<name>[^\s:]+):(?P<digest>[0-9a-fA-F]{64})")

KEY_PREFIX = "key:"
"""Begins the name of who has an API key."""

Principals = dict[bytes, str]


class ApiKeys:
    """Known keys by hash. Keys are random and long, so a fast hash is enough, and its look-up tells nothing by time."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals

    @classmethod
    def load(cls, path: str | None, *, may_be_empty: bool = False) -> ApiKeys | None:
        """The keys of a file with ``name:digest`` lines and of a variable with ``name:key`` pairs; None without both.

        Raises:
            InvalidInputError: If one of them has no key, since that is a mistake and not a server for everybody; unless
                the file ``may_be_empty``, since the server runs and all keys of it are revoked.
        """
        text = os.environ.get(API_KEYS_VARIABLE)
        principals: Principals = {}
        if text is not None:
            principals |= _some(_from_variable(text), f"The variable {API_KEYS_VARIABLE}", "unset it")
        if path is not None:
            found = _from_file(Path(path))
            principals |= found if may_be_empty else _some(found, f"The file {path}", "leave out api_keys")
        return None if text is None and path is None else cls(principals)

    def principal(self, key: bytes) -> str | None:
        """Whose key it is."""
        name = self._principals.get(hashlib.sha256(key).digest())
        return None if name is None else f"{KEY_PREFIX}{name}"

    def has(self, principal: str) -> bool:
        """Whether there is a key of this principal."""
        return principal.removeprefix(KEY_PREFIX) in self._principals.values()


def watched(path: str | None) -> Callable[[], ApiKeys | None]:
    """The keys as the file has them at the moment, with those of the variable.

    Raises:
        InvalidInputError: As :meth:`ApiKeys.load` does now; later, the last good file counts.
    """
    keys = ApiKeys.load(path)
    if path is None:
        return lambda: keys
    file = Reloaded(path, partial(ApiKeys.load, may_be_empty=True))
    return lambda: file.value


def _some(principals: Principals, source: str, otherwise: str) -> Principals:
    if not principals:
        raise InvalidInputError(f"{source} has no API key, so nobody could be let in: add one, or {otherwise}.")
    return principals


def _from_file(path: Path) -> Principals:
    principals = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InvalidInputError(
                f"{path}, line {number}: expected 'name:' and 64 hex digits, the SHA-256 of the key, "
                'as `printf %s "$KEY" | sha256sum` prints it.'
            )
        principals[bytes.fromhex(match["digest"])] = match["name"]
    return principals


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"The API keys cannot be read from {path}: {error}") from error


def _from_variable(text: str) -> Principals:
    principals = {}
    for number, item in enumerate(filter(None, map(str.strip, text.split(","))), start=1):
        name, _, key = item.partition(":")
        if not (name and key):
            raise InvalidInputError(f"API key no. {number} of the environment must be written as name:key.")
        principals[hashlib.sha256(key.encode()).digest()] = name
    return principals

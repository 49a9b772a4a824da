"""The public keys that sign bearer tokens, from a file or a URL."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from lance_namespace import ServiceUnavailableError

from lancespace_server.algorithms import fitting

_LOOK_AGAIN_SECONDS = 60.0
"""An unknown key id makes us look again, but not more often than this: anybody can send unknown ids."""

_FRESH_SECONDS = 240.0
"""An older set is read again before it is used: keys are also taken out."""

_LAST_SECONDS = 900.0
"""For so long the set counts while its source does not answer."""

_PAUSE_SECONDS = 5.0
"""After a failure the source is left alone for so long: who waits for it keeps others waiting."""

_FETCH_SECONDS = 10.0
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Key:
    """A public key, and the algorithms that it may be used with."""

    public: Any
    algorithms: tuple[str, ...]


class Jwks:
    """A key set by key id, which follows its source: keys that are new there are found, and gone ones forgotten."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._reading = threading.Lock()
        self._keys: dict[str | None, Key] = {}
        self._read_at = self._tried_at = float("-inf")
        self._failure: ServiceUnavailableError | None = None

    @property
    def is_remote(self) -> bool:
        """Whether reading it takes a network."""
        return self._source.startswith("https://")

    def at_hand(self, key_id: str | None) -> Key | None:
        """The key, if it is known and nothing speaks for looking at the source first."""
        key = self._known(key_id)
        return None if self._is_due(key) and not self._reading.locked() else key

    def find(self, key_id: str | None) -> Key | None:
        """The key, looked for at its source if need be; this may take a network round trip.

        Raises:
            ServiceUnavailableError: If the source cannot be read, or could not a moment ago.
        """
        key = self.at_hand(key_id)
        if key is not None:
            return key
        with self._reading:
            if self._is_due(self._known(key_id)):
                self._refresh()
            key = self._known(key_id)
            if key is None and self._failure is not None:
                raise self._failure
        return key

    def _known(self, key_id: str | None) -> Key | None:
        keys = self._keys
        if time.monotonic() - self._read_at > _LAST_SECONDS:
            return None
        if key_id is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(key_id)

    def _is_due(self, key: Key | None) -> bool:
        """Whether the source is to be asked before the key is used, or said to be unknown."""
        now = time.monotonic()
        if self._failure is not None:
            return now - self._tried_at > _PAUSE_SECONDS
        return now - self._read_at > (_FRESH_SECONDS if key else _LOOK_AGAIN_SECONDS)

    def _refresh(self) -> None:
        try:
            self._keys, self._failure = self._read(), None
            self._read_at = time.monotonic()
        except ServiceUnavailableError as error:
            self._failure = error
        self._tried_at = time.monotonic()

    def _read(self) -> dict[str | None, Key]:
        try:
            listed = json.loads(self._fetch())["keys"]
            keys = {entry.get("kid"): key for entry in listed for key in _usable(entry)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ServiceUnavailableError(f"The keys of JWTs cannot be read from {self._source}.") from error
        if not keys:
            raise ServiceUnavailableError(f"{self._source} has no public key that bearer tokens could be signed with.")
        return keys

    def _fetch(self) -> bytes:
        if not self.is_remote:
            return Path(self._source).read_bytes()
        with urllib.request.urlopen(self._source, timeout=_FETCH_SECONDS) as answer:  # noqa: S310 - https, see above
            read: bytes = answer.read(_LARGEST)
            return read


def _usable(entry: Any) -> list[Key]:
    """The key of an entry, or nothing: a set may also have keys for other purposes, and of types to come."""
    algorithms = fitting(entry) if isinstance(entry, dict) else ()
    try:
        return [Key(jwt.PyJWK(entry, algorithms[0]).key, algorithms)] if algorithms else []
    except jwt.PyJWTError:
        return []

"""The public keys that sign bearer tokens, from a file or a URL."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import jwt
from lance_namespace import ServiceUnavailableError

_REFRESH_SECONDS = 60.0
"""An unknown key id makes us look again, but not more often than this: anybody can send unknown ids."""

_PAUSE_SECONDS = 5.0
"""The same after a failure: who waits for a source that does not answer keeps others waiting."""

_FETCH_SECONDS = 10.0
_LARGEST = 1 << 20


class Jwks:
    """A key set by key id; it is read again when a token names a key that is not in it, as after a rotation."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._read_at = float("-inf")
        self._failure: ServiceUnavailableError | None = None

    def cached(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key, if it is at hand."""
        return self._keys.get(key_id)

    def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key, looked for at its source if need be; this may take a network round trip.

        Raises:
            ServiceUnavailableError: If the source cannot be read, or could not a moment ago.
        """
        with self._lock:
            pause = _REFRESH_SECONDS if self._failure is None else _PAUSE_SECONDS
            if key_id not in self._keys and time.monotonic() - self._read_at > pause:
                self._refresh()
            if key_id not in self._keys and self._failure is not None:
                raise self._failure
        return self._keys.get(key_id)

    def _refresh(self) -> None:
        try:
            self._keys, self._failure = self._read(), None
        except ServiceUnavailableError as error:
            self._failure = error
        self._read_at = time.monotonic()

    def _read(self) -> dict[str | None, jwt.PyJWK]:
        try:
            document = json.loads(self._fetch())
            keys = jwt.PyJWKSet.from_dict(document).keys
        except (OSError, ValueError, AttributeError, jwt.PyJWTError) as error:
            raise ServiceUnavailableError(f"The keys of bearer tokens cannot be read from {self._source}.") from error
        return {key.key_id: key for key in keys}

    def _fetch(self) -> Any:
        if not self._source.startswith("https://"):
            return Path(self._source).read_bytes()
        with urllib.request.urlopen(self._source, timeout=_FETCH_SECONDS) as answer:  # noqa: S310 - https, see above
            return answer.read(_LARGEST)

"""Secrets of the connection, kept out of whatever is printed about errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SECRET_NAMES = re.compile(r"secret|key|token|password|credential|signature|sas", re.IGNORECASE)
_SHORTEST = 4
"""Shorter values are part of too many words to be taken out of a text."""


class Hidden:
    """Texts that are replaced by stars."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def add(self, values: Iterable[str]) -> None:
        """Hide these from now on."""
        self._secrets.update(value for value in values if len(value) >= _SHORTEST)

    def clean(self, text: str) -> str:
        """The text without them; the longest first, since one may be part of another."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def secrets_among(arguments: Iterable[str]) -> list[str]:
    """The secret values among the arguments of a command, wherever they stand: a usage error may quote them."""
    pairs = (argument.partition("=") for argument in arguments)
    return secrets_in({name: value for name, equals, value in pairs if equals})


def secrets_in(properties: Mapping[str, str]) -> list[str]:
    """The values of properties whose names say that they are secret."""
    return [value for name, value in properties.items() if _SECRET_NAMES.search(name)]

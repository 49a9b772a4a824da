"""API keys: a secret per caller, of which the server keeps only a hash."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from lance_namespace import InvalidInputError

_LINE = re.compile(r"(?P<name>[^\s:]+):(?P<digest>[0-9a-fA-F]{64})")


class ApiKeys:
    """Known keys by hash. Keys are random and long, so a fast hash is enough, and its look-up tells nothing by time."""

    def __init__(self, principals: dict[bytes, str]) -> None:
        self._principals = principals

    @classmethod
    def load(cls, path: str | None, variable: str) -> ApiKeys:
        """The keys of a file with ``name:digest`` lines, and of a variable with ``name:key`` pairs."""
        principals = dict(_from_variable(variable))
        if path is not None:
            principals |= _from_file(Path(path))
        return cls(principals)

    def principal(self, key: bytes) -> str | None:
        """Whose key it is."""
        return self._principals.get(hashlib.sha256(key).digest())

    def __len__(self) -> int:
        return len(self._principals)


def _from_file(path: Path) -> dict[bytes, str]:
    principals = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
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


def _from_variable(text: str) -> list[tuple[bytes, str]]:
    pairs = []
    for number, item in enumerate(filter(None, text.split(",")), start=1):
        name, _, key = item.strip().partition(":")
        if not (name and key):
            raise InvalidInputError(f"API key no. {number} of the environment must be written as name:key.")
        pairs.append((hashlib.sha256(key.encode()).digest(), name))
    return pairs

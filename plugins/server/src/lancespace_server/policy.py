"""Who may do what: grants of action classes on parts of the catalog, from a TOML file.

.. code-block:: toml

    [[grant]]
    principals = ["jwt:alice", "key:etl-*", "role:analysts"]
    actions = ["read", "write"]
    on = ["sales$**"]

``role:`` stands before a role or group that a token tells of. Identifiers are written with ``$`` between the names, as
in the catalog and in routes: a name may contain a dot, but never a ``$``. ``*`` stands for anything within a name,
``**`` for any number of names, also none.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import DELIMITER
from lancespace_server.principals import ROLE_PREFIX

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lancespace.authoring import Principal

ACTIONS = ("read", "write", "admin")
"""The classes of operations. A grant of one does not imply another."""

_KEYS = {"principals", "actions", "on"}
_ANY_DEPTH = "**"
_ANYTHING = "\0"
"""Stands for any name: none can be called that, so only wildcards match it."""

_REMEMBERED = 16384
"""Answers that are kept; identifiers have at most 1 KiB, so they take 20 MB if somebody means harm."""


@dataclass(frozen=True)
class Grant:
    """Some principals may do some things to some objects."""

    principals: re.Pattern[str]
    actions: frozenset[str]
    on: re.Pattern[str]
    deep: re.Pattern[str]
    """Only what goes on to any depth: a match has everything below it, too."""


class Policy:
    """All grants; what none of them allows is denied."""

    def __init__(self, grants: Sequence[Grant]) -> None:
        self._grants = grants
        self.allows = functools.lru_cache(maxsize=_REMEMBERED)(self._allows)

    @classmethod
    def load(cls, path: str) -> Policy:
        """Read and check a policy file.

        Raises:
            InvalidInputError: Naming the file, the grant and what is wrong with it.
        """
        try:
            document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"The policy {path} cannot be read: {error}") from error
        if set(document) - {"grant"} or not isinstance(document.get("grant", []), list):
            raise InvalidInputError(f"The policy {path} may only have [[grant]] tables.")
        return cls(
            [_grant(entry, f"{path}, grant {number}") for number, entry in enumerate(document.get("grant", []), 1)]
        )

    def allows_somewhere(self, principal: Principal, action: str) -> bool:
        """Whether there is anything that the principal may do this to."""
        return any(True for _ in self._of(principal, action))

    def allows_below(self, principal: Principal, action: str, names: tuple[str, ...]) -> bool:
        """Whether the principal may do this to everything inside of a namespace, however deep and whatever its name."""
        child = _marked((*names, _ANYTHING))
        return any(grant.deep.fullmatch(child) for grant in self._of(principal, action))

    def _allows(self, principal: Principal, action: str, names: tuple[str, ...]) -> bool:
        marked = _marked(names)
        return any(grant.on.fullmatch(marked) for grant in self._of(principal, action))

    def _of(self, principal: Principal, action: str) -> Iterable[Grant]:
        names = (principal.name, *(f"{ROLE_PREFIX}{role}" for role in principal.roles))
        return (
            grant for grant in self._grants if action in grant.actions and any(map(grant.principals.fullmatch, names))
        )


def _grant(entry: Any, where: str) -> Grant:
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        raise InvalidInputError(f"{where} needs exactly {', '.join(sorted(_KEYS))}.")
    lists = {key: _strings(entry[key], f"{where}: {key!r}") for key in _KEYS}
    unknown = set(lists["actions"]) - set(ACTIONS)
    if unknown:
        raise InvalidInputError(f"{where}: there is no action {min(unknown)!r}; there is {', '.join(ACTIONS)}.")
    principals = "|".join(_glob(text, ".*") for text in lists["principals"])
    deep = [text for text in lists["on"] if text.split(DELIMITER)[-1] == _ANY_DEPTH]
    return Grant(re.compile(principals), frozenset(lists["actions"]), _any_of(lists["on"]), _any_of(deep))


def _strings(value: Any, what: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise InvalidInputError(f"{what} must be a list of texts with at least one.")
    return value


def _glob(text: str, star: str) -> str:
    return star.join(re.escape(part) for part in text.split("*"))


def _marked(names: tuple[str, ...]) -> str:
    return "".join(DELIMITER + name for name in names)


def _any_of(texts: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_pattern, texts)) or "(?!)")


def _pattern(text: str) -> str:
    """A pattern of identifiers as a regular expression; a delimiter is before every name, so the root is nothing."""
    names = text.split(DELIMITER)
    if not all(names):
        raise InvalidInputError(f"The pattern {text!r} has an empty name; the whole catalog is '**'.")
    mark = re.escape(DELIMITER)
    return "".join(
        rf"(?:{mark}[^{mark}]+)*" if name == _ANY_DEPTH else mark + _glob(name, f"[^{mark}]*") for name in names
    )

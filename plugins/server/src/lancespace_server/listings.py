"""Listings of which a caller sees a part: pages are full all the same, and tokens do not tell what is hidden."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import paginate

if TYPE_CHECKING:
    from pydantic import BaseModel

FIELDS = {"ListNamespacesResponse": "namespaces", "ListTablesResponse": "tables"}
"""Where the names are, by response; whoever may read a table may see the names of all that is in it."""

_CHUNK = 1000
"""So many names at least are asked for at once where few are visible."""

_SEALED = "sealed."
_BLOCK = 256


@dataclass(frozen=True)
class Listing:
    """One listing, as one principal sees it."""

    request: Any
    field: str
    sees: Callable[[str], bool]
    ask: Callable[[BaseModel], Any]
    """Lists anew, everything that there is."""

    def page(self, first: Any) -> tuple[list[str], str | None]:
        """The visible names after the request's token, as many as it asks for, and the token of the next page."""
        limit, token = self.request.limit, first.page_token
        found = self._visible(first)
        if len(found) == len(self._names(first)) and (found or not token):
            return found, token
        while token and (not found if limit is None else len(found) < limit):
            page = self._fitting(token, None if limit is None else limit - len(found))
            found += self._visible(page)
            token = None if page.page_token == token else page.page_token
        return found, token

    def _fitting(self, token: str, room: int | None) -> Any:
        """The names after a token, up to the one with which the room is full: the next token begins after that."""
        page = self._after(token, None if room is None else max(room, _CHUNK))
        while room is not None and len(visible := self._visible(page)) >= room:
            names, last = self._names(page), visible[room - 1]
            if names[-1] == last:
                break
            page = self._after(token, names.index(last) + 1)
        return page

    def _after(self, token: str, limit: int | None) -> Any:
        return self.ask(self.request.model_copy(update={"page_token": token, "limit": limit}))

    def _visible(self, page: Any) -> list[str]:
        return list(filter(self.sees, self._names(page)))

    def _names(self, page: Any) -> list[str]:
        names: list[str] = getattr(page, self.field)
        return names


class Seal:
    """Closes the tokens of a backend, which may have made them of any name; who has the same key can open them."""

    def __init__(self, key: str | None) -> None:
        digest = hashlib.sha256((key or secrets.token_hex()).encode()).digest()
        self._key = base64.urlsafe_b64encode(digest)

    def closed(self, token: str, last: str) -> str:
        """The token as the caller gets it: as it is, if it says no more than the last name that the caller was given.

        It is filled up to a block, so that its length does not tell either.
        """
        if token in {last, paginate((last, last + last), None, 1)[1]}:
            return token
        from cryptography.fernet import Fernet

        plain = token.encode()
        filled = plain.ljust(-(-len(plain) // _BLOCK) * _BLOCK, b"\0")
        return _SEALED + Fernet(self._key).encrypt(filled).decode()

    def opened(self, token: str) -> str:
        """The token as the backend gave it.

        Raises:
            InvalidInputError: If it was sealed elsewhere.
        """
        if not token.startswith(_SEALED):
            return token
        from cryptography.fernet import Fernet, InvalidToken

        try:
            return Fernet(self._key).decrypt(token.removeprefix(_SEALED)).rstrip(b"\0").decode()
        except InvalidToken as error:
            raise InvalidInputError(
                "The page_token is not one that this server gave out; leave it out to start from the first page."
            ) from error

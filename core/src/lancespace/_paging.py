"""Stable pagination: one helper for every listing.

A page token encodes the last key that was handed out, not a position. So names that appear or vanish between two pages
can neither repeat nor hide any other, and a token stays good for as long as the listing has an order.
"""

from __future__ import annotations

import base64
import json
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Key = TypeVar("Key", str, int)
Page = TypeVar("Page")

_FORMAT = "1"


def paginate(names: Iterable[str], page_token: str | None, limit: int | None) -> tuple[list[str], str | None]:
    """One page of names that come sorted, and the token of the next page (None after the last)."""
    return page(names, lambda name: name, page_token, limit)


def fetch_page(
    fetch: Callable[[str | None, int | None], list[str]], page_token: str | None, limit: int | None
) -> tuple[list[str], str | None]:
    """Like :func:`paginate`, for a source that itself takes the name to start after and the count."""
    _check_limit(limit)
    after = _decode(page_token) if page_token else None
    if isinstance(after, int):
        raise _foreign(str(page_token))
    if limit == 0:
        return [], None
    found = fetch(after, None if limit is None else limit + 1)
    if limit is None or len(found) <= limit:
        return found, None
    return found[:limit], _encode(found[limit - 1])


def page(
    items: Iterable[Item],
    key: Callable[[Item], Key],
    page_token: str | None,
    limit: int | None,
    *,
    descending: bool = False,
) -> tuple[list[Item], str | None]:
    """One page of items that come sorted by a unique key, and the token of the next page (None after the last).

    Raises:
        InvalidInputError: The limit is negative, or the token is not one of this listing.
    """
    _check_limit(limit)
    rest = iter(items)
    if page_token:
        last = _decode(page_token)
        rest = (item for item in rest if _is_after(key(item), last, page_token, descending=descending))
    if limit is None:
        return list(rest), None
    if limit == 0:
        return [], None
    found = list(islice(rest, limit + 1))
    shown = found[:limit]
    return shown, _encode(key(shown[-1])) if len(found) > limit else None


def pages(listing: Callable[[str | None], Page]) -> Iterator[Page]:
    """The answers of a listing, from the first to the last, as they are consumed.

    ``listing`` takes a page token. A server that repeats a token has no more pages.
    """
    token = None
    while True:
        answer = listing(token)
        yield answer
        following = getattr(answer, "page_token", None)
        if not following or following == token:
            return
        token = following


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise InvalidInputError(f"limit must be at least 0, not {limit}; leave it out to get everything")


def _is_after(key: str | int, last: str | int, token: str, *, descending: bool) -> bool:
    if isinstance(key, str) and isinstance(last, str):
        return key < last if descending else key > last
    if isinstance(key, int) and isinstance(last, int):
        return key < last if descending else key > last
    raise _foreign(token)


def _encode(key: str | int) -> str:
    return base64.urlsafe_b64encode(json.dumps([_FORMAT, key]).encode()).decode().rstrip("=")


def _decode(token: str) -> str | int:
    try:
        decoded = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise _foreign(token) from error
    match decoded:
        case [str(tag), (str() | int()) as last] if tag == _FORMAT and not isinstance(last, bool):
            return last
    raise _foreign(token)


def _foreign(token: str) -> InvalidInputError:
    return InvalidInputError(
        f"page_token {token[:40]!r} is not one that this listing gave out; leave it out to start from the first page"
    )

"""Redirects: which are followed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    import requests

    from lancespace_rest.messages import Message

MOST = 5

_KEEP_METHOD = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}


def followed(message: Message, answer: requests.Response) -> Message:
    """The message to the new address; the answer is closed.

    Raises:
        InvalidInputError: If it would carry credentials to another host, make a GET of a POST, or needs data again
            that can be read once.
    """
    answer.close()
    location = answer.headers["location"]
    try:
        target = urljoin(message.url, location)
        new = urlsplit(target)
        is_near = _is_near(urlsplit(message.url), new)
    except ValueError as error:
        raise InvalidInputError(
            f"{message.about}: {message.base} redirects to an address that is none. The server, or a proxy before it, "
            "sends a broken Location."
        ) from error
    keeps_method = answer.status_code in _KEEP_METHOD or message.operation.method == "GET"
    if not is_near or not keeps_method or not message.body.is_replayable:
        raise InvalidInputError(
            f"{message.about}: {message.base} redirects to {new.scheme}://{new.netloc.rpartition('@')[2]}{new.path}: "
            "set the property 'uri' to where the server is."
        )
    return replace(message, url=target)


def _is_near(old: SplitResult, new: SplitResult) -> bool:
    """Whether it is the same server, or the same host by https instead of http; a user in the URL is nobody's."""
    same = (old.hostname, old.port or _PORTS[old.scheme]) == (new.hostname, new.port or _PORTS.get(new.scheme))
    upgraded = old.hostname == new.hostname and (old.scheme, new.scheme) == ("http", "https")
    return "@" not in new.netloc and ((same and old.scheme == new.scheme) or upgraded)

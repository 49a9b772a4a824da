"""Messages: what an operation sends, and how it becomes an HTTP request with all of its headers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import requests
from requests.structures import CaseInsensitiveDict

from lancespace.operations import OPERATIONS
from lancespace_rest.bodies import JsonBody
from lancespace_rest.headers import IDEMPOTENCY_KEY, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lancespace.operations import Operation
    from lancespace_rest.bodies import Body
    from lancespace_rest.deadlines import Deadline


@dataclass(frozen=True)
class Message:
    """A request that is ready but for its authorization; its repr has nothing that may be a secret."""

    operation: Operation
    about: str
    """What messages to people call it: the operation and its object."""
    url: str = field(repr=False)
    base: str
    """The server, as messages to people name it."""
    defaults: Mapping[str, str] = field(repr=False)
    """Headers of the connection; the auth method's come over them."""
    headers: Mapping[str, str] = field(repr=False)
    """Headers of this request, their names in any case; they come over all others."""
    body: Body = field(repr=False)
    deadline: Deadline = field(repr=False)


def question(message: Message) -> Message:
    """A small read with the key of a write, whose answer tells whether the server keeps keys."""
    key = {IDEMPOTENCY_KEY: message.headers[IDEMPOTENCY_KEY]}
    operation = OPERATIONS["list_namespaces"]
    url = f"{message.base}/v1/namespace/%24/list?delimiter=%24&limit=1"
    return replace(message, operation=operation, url=url, headers=key, body=JsonBody())


def prepared(message: Message) -> requests.PreparedRequest:
    """The request with the URL that will be sent, byte for byte, and no headers but those of its body.

    It comes before the authorization, since a method that signs must sign what is sent.
    """
    return requests.Request(message.operation.method, message.url, data=message.body.content).prepare()


def merged(*layers: Mapping[str, str]) -> CaseInsensitiveDict[str]:
    """Headers of several origins, the nearest to the request last; all that is sent passes the check here.

    Raises:
        InvalidInputError: If one cannot be sent.
    """
    headers: CaseInsensitiveDict[str] = CaseInsensitiveDict()
    for layer in layers:
        headers.update(layer)
    checked(headers)
    return headers

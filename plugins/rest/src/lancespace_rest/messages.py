"""Messages: what an operation sends, how it becomes an HTTP request with all of its headers, and where it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from lance_namespace import InvalidInputError
from requests.structures import CaseInsensitiveDict

from lancespace.authoring import OPERATIONS, Operation
from lancespace_rest.bodies import Body, JsonBody
from lancespace_rest.deadlines import Deadline
from lancespace_rest.headers import IDEMPOTENCY_KEY, checked

_KEEP_METHOD = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}


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

    def prepared(self) -> requests.PreparedRequest:
        """The request with the URL that will be sent, byte for byte, and no headers but those of its body.

        It comes before the authorization, since a method that signs must sign what is sent.
        """
        return requests.Request(self.operation.method, self.url, data=self.body.content).prepare()

    def question(self) -> Message:
        """A small read with the key of this write: its answer tells whether the server keeps keys."""
        key = {IDEMPOTENCY_KEY: self.headers[IDEMPOTENCY_KEY]}
        operation = OPERATIONS["list_namespaces"]
        url = f"{self.base}/v1/namespace/%24/list?delimiter=%24&limit=1"
        return replace(self, operation=operation, url=url, headers=key, body=JsonBody())

    def is_echoed(self, answer: requests.Response) -> bool:
        """Whether the answer is from a server that keeps the key of this request."""
        key = self.headers.get(IDEMPOTENCY_KEY)
        return key is not None and answer.headers.get(IDEMPOTENCY_KEY) == key

    def redirected(self, answer: requests.Response) -> Message:
        """The message to the new address; the answer is closed.

        Raises:
            InvalidInputError: If it would carry credentials to another host, make a GET of a POST, or needs data again
                that can be read once.
        """
        answer.close()
        try:
            target = urljoin(self.url, answer.headers["location"])
            new = urlsplit(target)
            is_near = _is_near(urlsplit(self.url), new)
        except ValueError as error:
            raise InvalidInputError(
                f"{self.about}: {self.base} redirects to an address that is none. The server, or a proxy before it, "
                "sends a broken Location."
            ) from error
        keeps_method = answer.status_code in _KEEP_METHOD or self.operation.method == "GET"
        if not is_near or not keeps_method or not self.body.is_replayable:
            raise InvalidInputError(
                f"{self.about}: {self.base} redirects to {new.scheme}://{new.netloc.rpartition('@')[2]}{new.path}: "
                "set the property 'uri' to where the server is."
            )
        return replace(self, url=target)


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


def _is_near(old: SplitResult, new: SplitResult) -> bool:
    """Whether it is the same server, or the same host by https instead of http; a user in the URL is refused."""
    same = (old.hostname, old.port or _PORTS[old.scheme]) == (new.hostname, new.port or _PORTS.get(new.scheme))
    upgraded = old.hostname == new.hostname and (old.scheme, new.scheme) == ("http", "https")
    return "@" not in new.netloc and ((same and old.scheme == new.scheme) or upgraded)

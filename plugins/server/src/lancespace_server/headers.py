"""What the headers of a request say, found in one pass."""

from __future__ import annotations

import itertools
import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PREFIX = "header."
IDEMPOTENCY_KEY = b"idempotency-key"
_KNOWN = frozenset(
    {
        b"x-api-key",
        b"authorization",
        b"content-type",
        b"content-encoding",
        b"content-length",
        b"accept",
        b"origin",
        b"host",
        b"transfer-encoding",
        b"x-request-id",
        IDEMPOTENCY_KEY,
    }
)
"""The headers that are attributes of :class:`Headers`."""

_TRANSPORT = re.compile(
    rb"accept-.*|cookie|connection|content-.*|date|expect|forwarded|if-.*|keep-alive|proxy-.*|server|set-cookie|"
    rb"strict-transport-security|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|x-content-type-options|"
    rb"x-forwarded-.*|x-real-ip|www-authenticate|retry-after|cache-control"
)
"""Headers that are about this connection or its security, and not for the namespace behind."""

_ONCE = (b"x-api-key", b"authorization", b"content-encoding", IDEMPOTENCY_KEY)

_PROCESS = secrets.token_hex(6)
_NUMBERS = itertools.count(1)
_REQUEST_ID = re.compile(rb"[\w.:-]{1,128}")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


class Headers:
    """The headers that the server reads itself, and all others."""

    __slots__ = (
        "accept",
        "api_key",
        "authorization",
        "content_encoding",
        "content_length",
        "content_type",
        "given_id",
        "host",
        "idempotency_key",
        "origin",
        "others",
        "repeated",
    )

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        """Sort the headers of a request, whose names are in lower case; of several of a name, the last counts."""
        listed = list(raw)
        headers = dict(listed)
        self.repeated = len(listed) > len(headers) and any(
            sum(name == once for name, _ in listed) > 1 for once in _ONCE
        )
        """Whether a header is repeated of which it would depend on the reader which one counts."""
        self.api_key = headers.pop(b"x-api-key", b"")
        self.authorization = headers.pop(b"authorization", b"")
        self.content_type = headers.pop(b"content-type", b"")
        self.content_encoding = headers.pop(b"content-encoding", b"")
        transfer = headers.pop(b"transfer-encoding", b"chunked")
        if transfer.strip().lower() != b"chunked":  # It is compressed, too.
            self.content_encoding = transfer
        self.content_length = headers.pop(b"content-length", b"")
        self.accept = headers.pop(b"accept", b"")
        self.origin = headers.pop(b"origin", b"")
        self.host = headers.pop(b"host", b"")
        self.idempotency_key = headers.pop(IDEMPOTENCY_KEY, b"")
        self.given_id = headers.pop(b"x-request-id", b"")
        self.others = list(headers.items())

    def request_id(self) -> str:
        """The caller's request id if it is fit for a log, otherwise a new one."""
        if self.given_id and _REQUEST_ID.fullmatch(self.given_id):
            return self.given_id.decode()
        return f"{_PROCESS}-{next(_NUMBERS):x}"

    def context(self) -> dict[str, str]:
        """The headers as entries of the request's ``context``; credentials and the connection's own are left out."""
        return {
            f"{_PREFIX}{name.decode('latin-1')}": value.decode("latin-1")
            for name, value in self.others
            if not _TRANSPORT.fullmatch(name)
        }

    def identity(self) -> dict[str, str]:
        """The credentials as the request's ``identity``."""
        identity = {}
        if self.api_key:
            identity["api_key"] = self.api_key.decode("latin-1")
        if token := self.bearer():
            identity["auth_token"] = token
        return identity

    def bearer(self) -> str:
        """The token of ``Authorization: Bearer``; empty if there is none."""
        scheme, _, token = self.authorization.partition(b" ")
        return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def of_context(context: Mapping[str, str]) -> tuple[list[tuple[bytes, bytes]], dict[str, str]]:
    """The headers that an answer's ``context`` asks for, and the entries that are none.

    What could break the answer apart (line breaks) or overrule the server is not sent.
    """
    headers, rest = [], {}
    for key, value in context.items():
        name = key.removeprefix(_PREFIX)
        if name == key:
            rest[key] = value
        elif _is_sendable(name, value):
            headers.append((name.lower().encode(), value.encode()))
    return headers, rest


def _is_sendable(name: str, value: str) -> bool:
    if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
        return False
    raw = name.lower().encode()
    return raw not in _KNOWN and not _TRANSPORT.fullmatch(raw)

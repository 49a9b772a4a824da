"""Headers of a request: what identity and context become, and what may be sent at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lance_namespace import InvalidInputError
from lance_namespace_urllib3_client.models.identity import Identity

CONTEXT_PREFIX = "header."
_PREFIXES = (CONTEXT_PREFIX, "headers.")
"""The spec's prefix, and the one that pylance's context providers use."""

API_KEY = "x-api-key"
AUTHORIZATION = "Authorization"
IDEMPOTENCY_KEY = "Idempotency-Key"
"""Sent with writes. A server that answers with the same header carries out all requests with one key once."""

_OF_THE_MESSAGE = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that describe one message or one connection; they are the client's own, and never context."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\u0100-\U0010ffff]*")


def from_properties(*families: Mapping[str, str]) -> dict[str, str]:
    """The ``header.*`` properties, checked.

    Raises:
        InvalidInputError: If a header cannot be sent, or is not the caller's to choose.
    """
    headers = {name: value for family in families for name, value in family.items()}
    for name in headers:
        if name.lower() in _OF_THE_MESSAGE:
            raise InvalidInputError(
                f"rest: the property 'header.{name}' is refused: the client sets that header itself."
            )
    checked(headers)
    return headers


def from_identity(identity: Identity | None) -> dict[str, str]:
    """What the spec makes of a request's identity."""
    headers: dict[str, str] = {}
    if identity is not None and identity.api_key is not None:
        headers[API_KEY] = identity.api_key
    if identity is not None and identity.auth_token is not None:
        headers[AUTHORIZATION] = f"Bearer {identity.auth_token}"
    return headers


def from_context(context: Mapping[str, str]) -> dict[str, str]:
    """The entries that are headers; those of another message (a gateway passes on what it got) are left out."""
    found = {name: value for key, value in context.items() for name in _header_name(key)}
    return {name: value for name, value in found.items() if name.lower() not in {*_OF_THE_MESSAGE, "host"}}


def other_context(context: Mapping[str, str]) -> dict[str, str]:
    """The entries that are no headers."""
    return {key: value for key, value in context.items() if not any(_header_name(key))}


def to_context(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer as its context."""
    return {f"{CONTEXT_PREFIX}{name.lower()}": value for name, value in headers.items()}


def checked(headers: Mapping[str, str]) -> None:
    """See that headers can be sent.

    Raises:
        InvalidInputError: Naming the header, and never its value, which may be a secret.
    """
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise InvalidInputError(f"{name!r} is not the name of an HTTP header.")
        if not isinstance(value, str):
            raise InvalidInputError(f"The header {name!r} must be a string, not {type(value).__name__}.")
        if value != value.strip() or not _VALUE.fullmatch(value):
            raise InvalidInputError(
                f"The header {name!r} has a value that HTTP cannot carry: a line break, a control character, "
                "a letter outside of Latin-1, or white space at its beginning or end."
            )


def _header_name(key: str) -> Iterator[str]:
    """The header that an entry of a context is, if it is one."""
    for prefix in _PREFIXES:
        if key.startswith(prefix) and key != prefix:
            yield key.removeprefix(prefix)

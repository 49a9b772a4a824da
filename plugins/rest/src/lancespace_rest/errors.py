"""From an answer that is an error, or no answer at all, to the spec's errors."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import requests
from lance_namespace import (
    ConcurrentModificationError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
    ThrottlingError,
    TransactionNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
    from_error_code,
)
from requests.exceptions import InvalidHeader, InvalidSchema
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from lancespace.authoring import Operation, Payload, Subject, redact
from lancespace_rest.connections import NotConnectedError
from lancespace_rest.retries import PASSING, UNCERTAIN

BROKEN = (requests.RequestException, HTTPError, OSError)
"""What requests and urllib3 raise when there is no answer, or half of one."""

ErrorClass = type[LanceNamespaceError]

_STATUSES: Mapping[int, ErrorClass] = {
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    407: UnauthenticatedError,
    409: ConcurrentModificationError,
    412: ConcurrentModificationError,
    429: ThrottlingError,
    **dict.fromkeys((405, 406, 501), UnsupportedOperationError),
    **dict.fromkeys((408, 502, 503, 504), ServiceUnavailableError),
}
_MISSING: Mapping[Subject, ErrorClass] = {
    Subject.NAMESPACE: NamespaceNotFoundError,
    Subject.TRANSACTION: TransactionNotFoundError,
}
_CODES = frozenset(ErrorCode)
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")
_SHOWN = 300
_LOOKED_AT = 4096
"""How much of a text is searched for secrets before it is shortened; a page may have megabytes."""
_PROXY_CREDENTIALS = " Put the user and password for the proxy into its URL, e.g. proxy=http://user:password@host:3128."
_TO_CHECK = " Check that the server runs, and the properties 'uri' and 'proxy'."
_UNCERTAIN = " It may have been carried out all the same: look before you repeat it."


def from_answer(operation: Operation, about: str, answer: requests.Response, body: bytes) -> LanceNamespaceError:
    """The error that an answer is: its JSON code decides the class, and without one its status does."""
    fields = fields_of(body)
    code = fields.get("code")
    doubt = _UNCERTAIN if operation.writes and answer.status_code in UNCERTAIN else ""
    if isinstance(code, int) and code in _CODES:
        told = _told(fields) or f"{about}: {_came(answer, body)}"
        return from_error_code(code, f"{told.rstrip('.')}.{doubt}" if doubt else told)
    return _from_status(operation, about, answer, body, told="error" in fields, doubt=doubt)


def not_understood(about: str, expected: str, answer: requests.Response, body: bytes) -> LanceNamespaceError:
    """The error for an answer that says success and is something else."""
    return InternalError(
        f"{about}: the answer should be {expected}, but {_came(answer, body)}. Is there a proxy in between?"
    )


def from_failure(operation: Operation, about: str, error: Exception, *, base: str) -> LanceNamespaceError:
    """The error for a request that got no whole answer.

    It names the root alone, since requests quotes the URL, and a URL can carry secrets.
    """
    reason = reason_of(error)
    if is_malformed(error):
        return InvalidInputError(f"{about}: the request cannot be sent: {reason}.{_remedy(error)}")
    proxy, refusal = _proxy_of(error), _refusal(error)
    if refusal is not None:
        kind = _STATUSES.get(refusal, ServiceUnavailableError)
        return kind(f"{about}: the proxy {proxy} makes no connection to {base}: {reason}.{_proxy_remedy(refusal)}")
    if _is_tls(error):
        return ServiceUnavailableError(
            f"{about}: no secure connection to {base}: {reason}. "
            "If the server's certificate is of your own authority, set tls.ssl_ca_cert."
        )
    if is_unsent(error):
        way = f" by way of the proxy {proxy}" if proxy else ""
        return ServiceUnavailableError(f"{about}: cannot reach {base}{way}: {reason}.{_TO_CHECK}")
    doubt = _UNCERTAIN if operation.writes else ""
    return ServiceUnavailableError(
        f"{about}: the connection to {base} broke before the answer was whole: {reason}.{doubt}"
    )


def reason_of(error: BaseException) -> str:
    """What happened, in a few words and without secrets."""
    root = root_of(error)
    if isinstance(error, InvalidHeader):  # It quotes the value.
        return "a header has a value that HTTP cannot carry"
    return redact(str(root)).rstrip(".") or type(root).__name__


def root_of(error: BaseException) -> BaseException:
    """What happened at first, below the layers of requests and urllib3."""
    return _chain(error)[-1]


def is_malformed(error: BaseException) -> bool:
    """Whether the request was refused on this side: its URL, a header, the proxy's URL."""
    return isinstance(error, ValueError)


def is_unsent(error: BaseException) -> bool:
    """Whether no connection was made."""
    return any(isinstance(one, (NotConnectedError, ConnectTimeoutError)) for one in _chain(error))


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed another time."""
    refusal = _refusal(error)
    return not is_malformed(error) and not _is_tls(error) and (refusal is None or refusal in PASSING)


def _is_tls(error: BaseException) -> bool:
    """Whether TLS itself failed, which a repeat does not change; a connection that only ended is none of that."""
    root = root_of(error)
    return isinstance(root, ssl.SSLError) and not isinstance(root, (ssl.SSLEOFError, ssl.SSLZeroReturnError))


def _proxy_of(error: BaseException) -> str | None:
    return next((one.proxy for one in _chain(error) if isinstance(one, NotConnectedError)), None)


def _refusal(error: BaseException) -> int | None:
    """The status of a proxy that makes no tunnel; nothing has reached the server."""
    found = _TUNNEL.search(str(root_of(error))) if is_unsent(error) else None
    return int(found[1]) if found else None


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what it wraps: libraries keep that as the reason, among the arguments, or as the cause."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        inner = [getattr(one, "reason", None), *one.args[::-1], one.__cause__]
        one = next((below for below in inner if isinstance(below, BaseException)), None)
    return found


def _remedy(error: BaseException) -> str:
    if isinstance(error, InvalidSchema) and "SOCKS" in str(error):
        return ' A SOCKS proxy needs: pip install "requests[socks]".'
    return " Check the properties 'uri' and 'proxy', and the proxies of the environment."


def _proxy_remedy(status: int) -> str:
    return _PROXY_CREDENTIALS if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED else ""


def _from_status(
    operation: Operation, about: str, answer: requests.Response, body: bytes, *, told: bool, doubt: str
) -> LanceNamespaceError:
    """Without a code: 404 is either about the object (an existence check, a server that says so) or about the route."""
    status = answer.status_code
    came = _came(answer, body)
    if status == HTTPStatus.NOT_FOUND and (told or (operation.result is Payload.EMPTY and not body)):
        return _MISSING.get(operation.subject, TableNotFoundError)(f"{about}: not found; {came}.")
    if status == HTTPStatus.NOT_FOUND:
        return UnsupportedOperationError(
            f"{about}: the server has no route {operation.method} {operation.route}; {came}. "
            "It does not support the operation, or the property 'uri' lacks its path prefix."
        )
    default = InternalError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else InvalidInputError
    return _STATUSES.get(status, default)(f"{about}: {came}.{_proxy_remedy(status)}{doubt}")


def _told(fields: Mapping[str, Any]) -> str:
    """The server's own words."""
    error, detail = (str(fields.get(name) or "").strip() for name in ("error", "detail"))
    shown = f"{error} ({shortened(detail)})" if error and detail and detail not in error else error or detail
    return redact(shown)


def _came(answer: requests.Response, body: bytes) -> str:
    kind = answer.headers.get("content-type", "nothing that says what it is")
    text = shortened(body[: 2 * _LOOKED_AT].decode("utf-8", "replace"))
    shown = f"with {kind}: {text!r}" if text else "without a body"
    return f"the server answered {answer.status_code} {answer.reason or ''}".rstrip() + f" {shown}"


def shortened(text: str) -> str:
    """One line of what came, fit for a message."""
    if len(text) > _LOOKED_AT:  # Without the last word, which may be half of a secret.
        text = text[:_LOOKED_AT].rsplit(None, 1)[0]
    line = " ".join(redact(text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def fields_of(body: bytes) -> dict[str, Any]:
    """The fields of a JSON object; none if it is something else."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

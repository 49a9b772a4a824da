"""From an answer that is an error, or no answer at all, to the spec's errors."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

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
from requests import ConnectTimeout
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from lancespace.errors import redact
from lancespace.operations import Operation, Payload, Subject

if TYPE_CHECKING:
    import requests

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
_SHOWN = 300
_UNCERTAIN = " It may have been carried out all the same: look before you repeat it."


def from_answer(operation: Operation, about: str, answer: requests.Response, body: bytes) -> LanceNamespaceError:
    """The error that an answer is: its JSON code decides the class, and without one its status does."""
    value = _json(body)
    fields = value if isinstance(value, dict) else {}
    code = fields.get("code")
    if isinstance(code, int) and code in _CODES:
        return from_error_code(code, _told(fields) or f"{about}: {_came(answer, body)}")
    return _from_status(operation, about, answer, body, told="error" in fields)


def not_understood(about: str, expected: str, answer: requests.Response, body: bytes) -> LanceNamespaceError:
    """The error for an answer that says success and is something else."""
    return InternalError(
        f"{about}: the answer should be {expected}, but {_came(answer, body)}. Is there a proxy in between?"
    )


def from_failure(operation: Operation, about: str, error: Exception, *, base: str) -> LanceNamespaceError:
    """The error for a request that got no whole answer.

    It is told by its root, since requests quotes the URL, and a URL can carry secrets.
    """
    reason = redact(str(root_of(error))) or type(root_of(error)).__name__
    if is_tls(error):
        return ServiceUnavailableError(
            f"{about}: no secure connection to {base}: {reason}. "
            "If the server's certificate is of your own authority, set tls.ssl_ca_cert."
        )
    if is_unsent(error):
        return ServiceUnavailableError(f"{about}: cannot reach {base}: {reason}.")
    doubt = _UNCERTAIN if operation.writes else ""
    return ServiceUnavailableError(
        f"{about}: the connection to {base} broke before the answer was whole: {reason}.{doubt}"
    )


def is_unsent(error: BaseException) -> bool:
    """Whether the request cannot have reached the server: there was no connection."""
    kinds = (NewConnectionError, ConnectTimeoutError, ConnectTimeout, ssl.SSLCertVerificationError)
    return any(isinstance(one, kinds) for one in _chain(error))


def is_tls(error: BaseException) -> bool:
    """Whether TLS itself failed, which no repeat mends; a connection that only ended is none of that."""
    root = root_of(error)
    return isinstance(root, ssl.SSLError) and not isinstance(root, (ssl.SSLEOFError, ssl.SSLZeroReturnError))


def root_of(error: BaseException) -> BaseException:
    """What happened at first, below the layers of requests and urllib3."""
    *_, last = _chain(error)
    return last


def _chain(error: BaseException) -> list[BaseException]:
    found = [error]
    while (below := _below(found[-1])) is not None and below not in found:
        found.append(below)
    return found


def _below(error: BaseException) -> BaseException | None:
    """What an error wraps: libraries keep it as the reason, among the arguments, or as the cause."""
    inner = [getattr(error, "reason", None), *error.args[::-1], error.__cause__]
    return next((one for one in inner if isinstance(one, BaseException)), None)


def _from_status(
    operation: Operation, about: str, answer: requests.Response, body: bytes, *, told: bool
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
    return _STATUSES.get(status, default)(f"{about}: {came}.")


def _told(fields: Mapping[str, Any]) -> str:
    """The server's own words."""
    error, detail = (str(fields.get(name) or "").strip() for name in ("error", "detail"))
    shown = f"{error} ({shortened(detail)})" if error and detail and detail not in error else error or detail
    return redact(shown)


def _came(answer: requests.Response, body: bytes) -> str:
    kind = answer.headers.get("content-type", "nothing that says what it is")
    text = shortened(body.decode("utf-8", "replace"))
    shown = f"with {kind}: {text!r}" if text else "without a body"
    return f"the server answered {answer.status_code} {answer.reason or ''}".rstrip() + f" {shown}"


def shortened(text: str) -> str:
    """One line of what came, fit for a message."""
    line = " ".join(redact(text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None

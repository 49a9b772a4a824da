"""Every failure as the spec's JSON error: a status, a code, and a sentence that says what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lance_namespace import ErrorCode, LanceNamespaceError
from pydantic_core import to_json

if TYPE_CHECKING:
    from lancespace.authoring import Operation

_STATUSES: dict[str, int] = {
    "UNSUPPORTED": 406,
    "INVALID_INPUT": 400,
    "TABLE_SCHEMA_VALIDATION_ERROR": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "CONCURRENT_MODIFICATION": 409,
    "INVALID_TABLE_STATE": 409,
    "NAMESPACE_NOT_EMPTY": 409,
    "THROTTLING": 429,
    "INTERNAL": 500,
    "SERVICE_UNAVAILABLE": 503,
}
_BY_ENDING = {"_NOT_FOUND": 404, "_ALREADY_EXISTS": 409}

RETRY_SECONDS = 1
"""What ``Retry-After`` says: a full server is usually free again soon."""

_RETRY = ((b"retry-after", str(RETRY_SECONDS).encode()),)


def status_of(code: ErrorCode) -> int:
    """The HTTP status of an error code."""
    by_ending = (status for ending, status in _BY_ENDING.items() if code.name.endswith(ending))
    return _STATUSES.get(code.name) or next(by_ending)


@dataclass
class Failure(Exception):  # noqa: N818 - an answer that ends the request, not only an error
    """An answer other than success, ready to be sent."""

    status: int
    code: ErrorCode
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())

    def body(self, request_id: str) -> bytes:
        """The spec's ``ErrorResponse``."""
        answer = {"error": self.message, "code": int(self.code), "detail": f"request {request_id}"}
        return to_json({**answer, "instance": request_id})


def of_error(error: LanceNamespaceError, operation: Operation | None = None) -> Failure:
    """The answer to one of the spec's errors.

    A column that an expression names is not what the URL names: if it is missing, the request is wrong.
    """
    status = status_of(error.code)
    if error.code is ErrorCode.TABLE_COLUMN_NOT_FOUND and operation is not None and operation.expressions:
        status = 400
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if status in {429, 503}:
        headers = _RETRY
    elif status == 401:  # noqa: PLR2004 - HTTP's own number
        headers = ((b"www-authenticate", b"Bearer"),)
    return Failure(status, error.code, str(error) or error.code.name, headers)


def no_route(path: str) -> Failure:
    """There is nothing at this path."""
    return Failure(404, ErrorCode.INVALID_INPUT, f"There is no route {path!r}: /openapi.json lists all of them.")


def wrong_method(method: str, allowed: list[str]) -> Failure:
    """There is something at this path, but for another method."""
    names = ", ".join(sorted(allowed))
    return Failure(
        405, ErrorCode.INVALID_INPUT, f"{method} is not allowed here: use {names}.", ((b"allow", names.encode()),)
    )


def too_large(what: str, limit: int, setting: str) -> Failure:
    """The caller sent more than is taken."""
    return Failure(
        413,
        ErrorCode.INVALID_INPUT,
        f"{what} is larger than {limit} bytes, which is what this server takes: send less at a time, "
        f"or let the operator raise the setting {setting!r}.",
    )


def wrong_type(given: str, expected: str) -> Failure:
    """The body is said to be of another type than the operation takes."""
    return Failure(415, ErrorCode.INVALID_INPUT, f"The Content-Type is {given!r}: send {expected!r}.")


def wrong_encoding(given: str) -> Failure:
    """The body is compressed as a whole."""
    return Failure(
        415,
        ErrorCode.INVALID_INPUT,
        f"The Content-Encoding is {given!r:.100}: send the body without one. Arrow buffers may be compressed.",
        ((b"accept-encoding", b"identity"),),
    )


def too_slow(what: str, seconds: float) -> Failure:
    """The caller does not send, or not take, what it should."""
    return Failure(408, ErrorCode.INVALID_INPUT, f"{what} within {seconds:g} s.", ((b"connection", b"close"),))


def overloaded() -> Failure:
    """The server has as much to do as it takes on."""
    return Failure(503, ErrorCode.SERVICE_UNAVAILABLE, "The server is busy: try again in a moment.", _RETRY)


def throttled(principal: str, limit: int) -> Failure:
    """One caller has as much under way as one may have."""
    return Failure(
        429,
        ErrorCode.THROTTLING,
        f"{principal!r} has {limit} requests under way, which is all that one caller may have: wait for some to end.",
        _RETRY,
    )


def too_many_bytes(principal: str, limit: int) -> Failure:
    """The requests of one caller have as many bytes in memory as one may have."""
    return Failure(
        429,
        ErrorCode.THROTTLING,
        f"The requests of {principal!r} may have {limit} bytes in memory together, and this one needs more than what "
        "is left: wait for some to end, or send smaller record batches.",
        _RETRY,
    )


def too_fast(name: str, limit: int, seconds: int) -> Failure:
    """More requests in a second than one caller, or one address, may send."""
    return Failure(
        429,
        ErrorCode.THROTTLING,
        f"{name!r} sends more than {limit} requests per second, which is the limit: send fewer.",
        ((b"retry-after", b"%d" % seconds),),
    )


def still_running() -> Failure:
    """A repeat of a write that goes on."""
    return Failure(
        409,
        ErrorCode.CONCURRENT_MODIFICATION,
        "The first request with this Idempotency-Key is still being carried out: try again in a moment.",
        _RETRY,
    )


def timed_out(seconds: float) -> Failure:
    """The operation takes too long; no ``Retry-After``, since it may still succeed."""
    return Failure(
        504,
        ErrorCode.SERVICE_UNAVAILABLE,
        f"The operation takes longer than {seconds:g} s and is still running: check whether it succeeded "
        "before you send it again.",
    )


def stopped() -> Failure:
    """The server stops; no ``Retry-After``, since it is not known how far the operation got."""
    return Failure(
        503,
        ErrorCode.SERVICE_UNAVAILABLE,
        "The server is stopping and could not wait for the operation: check whether it succeeded before you send it "
        "again.",
        ((b"connection", b"close"),),
    )

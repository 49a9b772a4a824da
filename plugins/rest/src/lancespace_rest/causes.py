"""What is below the errors of requests and urllib3: why there was no answer, and whether the same may go better."""

from __future__ import annotations

import ssl

from requests.exceptions import InvalidHeader

from lancespace.errors import redact
from lancespace_rest.connections import NotConnected
from lancespace_rest.retries import PASSING


def reason_of(error: BaseException) -> str:
    """What happened, in a few words and without secrets."""
    root = root_of(error)
    if isinstance(error, InvalidHeader):  # It quotes the value.
        return "a header has a value that HTTP cannot carry"
    return redact(str(root)).rstrip(".") or type(root).__name__


def is_malformed(error: BaseException) -> bool:
    """Whether the request was refused on this side: its URL, a header, the proxy's URL."""
    return isinstance(error, ValueError)


def is_passing(error: BaseException) -> bool:
    """Whether the same may go better another time."""
    refusal = error.refusal if isinstance(error, NotConnected) else None
    return not is_malformed(error) and not is_tls(error) and (refusal is None or refusal in PASSING)


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

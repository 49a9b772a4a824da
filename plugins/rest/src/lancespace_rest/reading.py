"""Reading answers: all of one, the next piece of one, or as much of an error as a message can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import requests
from lance_namespace import ServiceUnavailableError
from urllib3.exceptions import HTTPError, ProtocolError

from lancespace_rest.connections import Patient

if TYPE_CHECKING:
    from lancespace_rest.deadlines import Deadline

BROKEN = (requests.RequestException, HTTPError, OSError)
"""What requests and urllib3 raise when there is no answer, or half of one."""

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_CHUNK = 1 << 16
_MOST_OF_AN_ERROR = 1 << 16


def read(answer: requests.Response, deadline: Deadline) -> bytes:
    """The body of an answer; its connection goes back to the pool."""
    with answer:
        chunks = []
        while chunk := receive(answer, deadline, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)


def read_error(answer: requests.Response, deadline: Deadline, begun: bytes = b"") -> bytes:
    """The body of an error, as far as it came and is worth reading: its status alone says what went wrong."""
    body = begun
    with answer:
        try:
            while len(body) < _MOST_OF_AN_ERROR and (chunk := receive(answer, deadline, _CHUNK)):
                body += chunk
        except (*BROKEN, ServiceUnavailableError):  # The latter is the deadline's.
            pass
    return body


def first(answer: requests.Response, deadline: Deadline, size: int) -> bytes:
    """The first bytes of an answer; fewer only if it has no more. Where that fails, the answer is closed.

    Raises:
        HTTPError: If the connection was closed before, by a server that does not say how long its answer is.
    """
    found = b""
    try:
        while len(found) < size and (piece := receive(answer, deadline, size - len(found))):
            found += piece
    except BaseException:
        answer.close()
        raise
    if len(found) < size and not _FRAMING & {name.lower() for name in answer.headers}:
        answer.close()
        raise ProtocolError("the connection was closed")
    return found


def receive(answer: requests.Response, deadline: Deadline, most: int) -> bytes:
    """The next bytes of an answer as soon as there are some, so that a slow server cannot outlast the deadline."""
    connection = (
        answer.raw.connection
    )  # None once the connection is back in the pool: then there is nothing to wait for.
    deadline.limit(connection.answering if isinstance(connection, Patient) else None)
    is_encoded = "content-encoding" in answer.headers  # Told to decode, urllib3 copies what is not encoded, too.
    chunk: bytes = answer.raw.read1(most, decode_content=is_encoded)
    return chunk

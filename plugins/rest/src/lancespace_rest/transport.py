"""One request and its answer: auth, repeats, redirects, and what became of it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
from lance_namespace import InvalidInputError, LanceNamespaceError
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from lancespace.errors import translate
from lancespace_rest import failures, retries
from lancespace_rest.auth import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lancespace.operations import Operation
    from lancespace_rest.auth import AuthMethod
    from lancespace_rest.bodies import Body
    from lancespace_rest.deadlines import Deadline
    from lancespace_rest.retries import RetryPolicy
    from lancespace_rest.sessions import HttpSession

_log = logging.getLogger(__name__)

Taken = TypeVar("Taken")

_SUCCESS = range(200, 300)
_UNAUTHORIZED = 401
_MOST_REDIRECTS = 5
_CHUNK = 1 << 16
_BROKEN = (requests.RequestException, HTTPError, OSError)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Message:
    """A request that is ready but for its authorization."""

    operation: Operation
    about: str
    """What messages call it: the operation and its object."""
    url: str
    base: str
    """The server, as messages name it."""
    defaults: Mapping[str, str]
    """Headers of the connection; the auth method's come over them."""
    headers: Mapping[str, str]
    """Headers of this request; they come over all others."""
    body: Body
    deadline: Deadline


class Transport:
    """Sends messages over a session."""

    def __init__(self, session: HttpSession, auth: AuthMethod | None, policy: RetryPolicy) -> None:
        self._session = session
        self._auth = auth
        self._policy = policy

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._session.close()

    def exchange(self, message: Message, take: Callable[[requests.Response], Taken]) -> Taken:
        """Send a message and take what is wanted of the answer, again and again where that is safe.

        Raises:
            LanceNamespaceError: The error that was answered, or why there was no answer.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = self._authorized(message)
                if answer.status_code in _SUCCESS:
                    return take(answer)
                body = read(answer, message.deadline)
            except _BROKEN as failure:
                pause = self._pause_after_failure(message, failure, attempt)
                if pause is None:
                    raise _error_of(message, failure) from failures.root_of(failure)
            else:
                pause = self._pause_after_answer(message, answer, attempt)
                if pause is None:
                    raise failures.from_answer(message.operation, message.about, answer, body)
            _log.debug("%s: attempt %d failed, again in %.2f s", message.about, attempt, pause)
            time.sleep(pause)

    def _authorized(self, message: Message) -> requests.Response:
        """Send it; if the credentials are refused and the auth method has others, send it once more."""
        credentials = self._credentials(message, refused=False)
        answer = self._redirected(message, credentials)
        if answer.status_code != _UNAUTHORIZED or not message.body.is_replayable:
            return answer
        renewed = self._credentials(message, refused=True)
        if renewed == credentials:
            return answer
        answer.close()
        return self._redirected(message, renewed)

    def _credentials(self, message: Message, *, refused: bool) -> Mapping[str, str]:
        if self._auth is None:
            return {}
        headers = {**message.defaults, **message.headers}
        return self._auth.headers(
            Call(message.operation.method, message.url, headers, message.body.sha256, refused=refused)
        )

    def _redirected(self, message: Message, credentials: Mapping[str, str]) -> requests.Response:
        """Send it, and follow redirects that stay on the server and keep the method."""
        for _ in range(_MOST_REDIRECTS):
            answer = self._send(message, credentials)
            if not answer.is_redirect:
                return answer
            target = urljoin(message.url, answer.headers["location"])
            answer.close()
            _check_redirect(message, answer.status_code, target)
            message = replace(message, url=target)
        raise InvalidInputError(f"{message.about}: the server redirects more than {_MOST_REDIRECTS} times.")

    def _send(self, message: Message, credentials: Mapping[str, str]) -> requests.Response:
        headers = CaseInsensitiveDict({**self._session.headers, **message.defaults})
        headers.update(credentials)
        headers.update(message.headers)
        request = requests.Request(message.operation.method, message.url, headers=headers, data=message.body.content)
        return self._session.start(request.prepare(), message.deadline.remaining())

    def _pause_after_failure(self, message: Message, failure: Exception, attempt: int) -> float | None:
        unsent = failures.is_unsent(failure)
        safe = retries.is_safe_after_failure(message.operation, unsent=unsent) and not failures.is_tls(failure)
        return self._pause(message, attempt, None) if safe else None

    def _pause_after_answer(self, message: Message, answer: requests.Response, attempt: int) -> float | None:
        if not retries.is_safe_after_status(message.operation, answer.status_code):
            return None
        return self._pause(message, attempt, retries.retry_after(answer.headers.get("retry-after")))

    def _pause(self, message: Message, attempt: int, asked: float | None) -> float | None:
        pause = self._policy.pause(attempt, asked) if message.body.is_replayable else None
        return None if pause is None or pause >= message.deadline.remaining() else pause


def read(answer: requests.Response, deadline: Deadline) -> bytes:
    """The body of an answer; its connection goes back to the pool."""
    with answer:
        chunks = []
        while chunk := receive(answer, deadline, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)


def receive(answer: requests.Response, deadline: Deadline, most: int) -> bytes:
    """The next bytes of an answer as soon as there are some, so that a slow server cannot outlast the deadline."""
    deadline.remaining()
    is_encoded = "content-encoding" in answer.headers  # Told to decode, urllib3 copies what is not encoded, too.
    chunk: bytes = answer.raw.read1(most, decode_content=is_encoded)
    return chunk


def _error_of(message: Message, failure: Exception) -> LanceNamespaceError:
    source = message.body.failure
    if source is not None:  # The data to be sent failed, not the connection.
        return translate(source, about=message.about)
    return failures.from_failure(message.operation, message.about, failure, base=message.base)


def _check_redirect(message: Message, status: int, target: str) -> None:
    """A redirect may neither carry credentials to another host nor make a GET of a POST."""
    old, new = urlsplit(message.url), urlsplit(target)
    same = (old.hostname, old.port or _PORTS[old.scheme]) == (new.hostname, new.port or _PORTS.get(new.scheme))
    upgraded = old.hostname == new.hostname and (old.scheme, new.scheme) == ("http", "https")
    keeps_method = status in {307, 308} or message.operation.method == "GET"
    if not ((same and old.scheme == new.scheme) or upgraded) or not keeps_method or not message.body.is_replayable:
        raise InvalidInputError(
            f"{message.about}: {message.base} redirects to {new.scheme}://{new.netloc.rpartition('@')[2]}{new.path}: "
            "set the property 'uri' to where the server is."
        )

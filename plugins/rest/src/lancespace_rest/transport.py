"""One message and its answer: auth, redirects, repeats, and what became of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import requests
from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError

from lancespace_rest import errors, retries
from lancespace_rest.auth import AuthMethod, Call
from lancespace_rest.headers import IDEMPOTENCY_KEY
from lancespace_rest.messages import Message, merged
from lancespace_rest.responses import read_error
from lancespace_rest.sessions import HttpSession

_log = logging.getLogger(__name__)

Taken = TypeVar("Taken")

_SUCCESS = range(200, 300)
_UNAUTHORIZED = 401
_MOST_REDIRECTS = 5


class Transport:
    """Sends messages over a session."""

    def __init__(self, session: HttpSession, auth: AuthMethod | None) -> None:
        self.session = session
        self._auth = auth
        self._keeps_keys: bool | None = None

    def answered(self, message: Message) -> requests.Response:
        """Send it, and follow redirects that stay on the server; each is authorized anew."""
        for _ in range(_MOST_REDIRECTS):
            answer = self._authorized(message)
            if not answer.is_redirect:
                self._note(message, answer)
                return answer
            message = message.redirected(answer)
        raise InvalidInputError(f"{message.about}: the server redirects more than {_MOST_REDIRECTS} times.")

    def keeps_key(self, message: Message) -> bool:
        """Whether the server carries out a write once, however often it gets it; it is asked if that is not known."""
        if self._keeps_keys is None and message.operation.writes:
            with suppress(*errors.BROKEN):
                self.answered(message.question()).close()
        return bool(self._keeps_keys) and message.operation.writes

    def _note(self, message: Message, answer: requests.Response) -> None:
        """Remember what an answer to a request with a key says; a proxy in between would not say it."""
        if message.is_echoed(answer):
            self._keeps_keys = True
        elif answer.status_code in _SUCCESS and IDEMPOTENCY_KEY in message.headers:
            self._keeps_keys = False

    def _authorized(self, message: Message) -> requests.Response:
        """Send it; if the credentials are refused and the auth method has others, send it once more."""
        request = message.prepared()
        if self._auth is None or (self._auth.header or "") in message.headers:
            return self._send(message, request, {})
        credentials = self._credentials(self._auth, message, request)
        answer = self._send(message, request, credentials)
        if answer.status_code != _UNAUTHORIZED:
            return answer
        try:  # Even if the data cannot be sent again: the next request is to have other credentials.
            renewed = self._credentials(self._auth, message, request, refused=credentials)
        except BaseException:
            answer.close()
            raise
        if renewed == credentials or not message.body.is_replayable:
            return answer
        answer.close()
        return self._send(message, message.prepared(), renewed)

    def _credentials(
        self,
        auth: AuthMethod,
        message: Message,
        request: requests.PreparedRequest,
        refused: Mapping[str, str] | None = None,
    ) -> Mapping[str, str]:
        headers = merged(message.defaults, message.headers)
        call = Call(
            message.operation.method,
            request.url or message.url,
            headers,
            message.body.sha256,
            refused=refused is not None,
            credentials=refused or {},
        )
        try:
            return auth.headers(call)
        except LanceNamespaceError:
            raise
        except Exception as error:  # noqa: BLE001 - any plugin may be the method
            raise InternalError(
                f"{message.about}: the auth method {type(auth).__name__} failed: "
                f"{type(error).__name__}: {errors.reason_of(error)}"
            ) from errors.root_of(error)

    def _send(
        self, message: Message, request: requests.PreparedRequest, credentials: Mapping[str, str]
    ) -> requests.Response:
        request.headers.update(merged(message.defaults, credentials, message.headers))
        return self.session.start(request)


class Exchange:
    """One message, and the attempts to get it answered."""

    def __init__(self, transport: Transport, message: Message) -> None:
        self.message = message
        self._transport = transport
        self._attempts = retries.Attempts(transport.session.retries, message.deadline)

    def run(self, take: Callable[[requests.Response], Taken]) -> Taken:
        """Send the message and take what is wanted of the answer, again and again where that is safe.

        Raises:
            LanceNamespaceError: The error that was answered, or why there was no answer.
        """
        while True:
            failure: Exception
            with self.message.deadline.running():
                try:
                    answer = self._transport.answered(self.message)
                    if answer.status_code in _SUCCESS:
                        return take(answer)
                except errors.BROKEN as error:
                    failure = error
                else:
                    self._after_error(answer)
                    continue
            self.after_failure(failure)

    def after_failure(self, failure: Exception) -> None:
        """Wait for another attempt after one without a whole answer.

        Raises:
            LanceNamespaceError: If there is to be none; it says what happened.
        """
        message = self.message
        message.deadline.remaining()
        safe = errors.is_unsent(failure) or not message.operation.writes or self._is_kept()
        if safe and errors.is_passing(failure) and self._waited():
            return
        if isinstance(failure, LanceNamespaceError):
            raise failure
        error = errors.from_failure(message.operation, message.about, failure, base=message.base)
        raise error from None if errors.is_malformed(failure) else errors.root_of(failure)

    def _after_error(self, answer: requests.Response) -> None:
        message = self.message
        body = read_error(answer, message.deadline)
        asked = retries.retry_after(answer.headers.get("retry-after"))
        comes_back = asked is not None and message.is_echoed(answer)
        safe = retries.is_safe_after_status(message.operation, answer.status_code, comes_back=comes_back)
        if not safe and answer.status_code in retries.UNCERTAIN and not message.is_echoed(answer):
            safe = self._is_kept()  # The answer is not the server's own.
        if not (safe and self._waited(asked)):
            raise errors.from_answer(message.operation, message.about, answer, body)

    def _is_kept(self) -> bool:
        """Whether the server carries the write out once, even if it gets it again; asked only if it can be sent."""
        message = self.message
        if not (message.body.is_replayable and self._attempts.has_more):
            return False
        with message.deadline.running():
            return self._transport.keeps_key(message)

    def _waited(self, asked: float | None = None) -> bool:
        """Whether there is another attempt; a body that was begun and can be read once allows none."""
        if not (self.message.body.is_replayable and self._attempts.wait(asked)):
            return False
        _log.debug("%s: attempt %d failed, now the next one", self.message.about, self._attempts.failed)
        return True

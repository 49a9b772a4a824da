"""One call of an operation whose request is there: from its parts to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancespace.authoring import Payload
from lancespace_server import answers, failures, wire

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.authoring import Operation
    from lancespace_server.request import Answer, Request
    from lancespace_server.services import Services


class Call:
    """An operation, and the request that it was named in."""

    def __init__(self, services: Services, request: Request, operation: Operation, segments: list[str]) -> None:
        self._namespace = services.namespace
        self._pace = services.pace
        self._http = request
        self._operation = operation
        self._segments = segments

    def at_once(self, body: bytes) -> Answer:
        """Do it all, on this thread."""
        if self._operation.body is not Payload.EMPTY:
            self._check_type((answers.JSON,))
        return self._encoded(self._ask(self._request(body)))

    def _check_type(self, expected: tuple[bytes, ...]) -> None:
        encoding = self._http.headers.content_encoding
        if encoding and encoding.strip().lower() != b"identity":
            raise failures.wrong_encoding(encoding.decode("latin-1"))
        given = self._http.headers.content_type
        if given and given not in expected and given.partition(b";")[0].strip().lower() not in expected:
            raise failures.wrong_type(given.decode("latin-1"), expected[0].decode())

    def _request(self, body: bytes) -> BaseModel:
        http = self._http
        request = wire.build(self._operation, self._segments, http.query, http.headers, body)
        http.identifier = getattr(request, "id", None)
        return request

    def _ask(self, request: BaseModel) -> Any:
        return self._pace.run(self._operation, lambda: self._namespace.call(self._operation, request))

    def _encoded(self, answer: Any) -> Answer:
        body, headers = answers.encode(self._operation, answer, self._http.query)
        return self._http.whole(self._operation.status, body, headers)

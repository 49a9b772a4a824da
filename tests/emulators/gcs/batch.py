"""Batches: many requests of the JSON API in one, each answered by itself."""

from __future__ import annotations

import re
from email.message import Message
from http import HTTPStatus

from tests.emulators.gcs.json_api import JsonApi
from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import NoSuchKeyError

MOST = 100
"""As many requests GCS takes in one batch."""

_REQUEST = re.compile(rb"^(DELETE) (\S+) HTTP/1\.1\s*$", re.MULTILINE)
_BOUNDARY = "batch_stand_in"


class Batch:
    """Answers requests to ``/batch/storage/v1``."""

    def __init__(self, json_api: JsonApi) -> None:
        self._json = json_api

    def __call__(self, request: Request) -> Answer:
        """Answer one batch."""
        asked = _REQUEST.findall(request.body)
        if not 0 < len(asked) <= MOST:
            return Answer(400)
        parts = [self._part(method.decode(), target.decode()) for method, target in asked]
        body = "".join(f"--{_BOUNDARY}\r\n{part}\r\n" for part in parts) + f"--{_BOUNDARY}--"
        return Answer(200, body.encode(), {"Content-Type": f"multipart/mixed; boundary={_BOUNDARY}"})

    def _part(self, method: str, target: str) -> str:
        try:
            status = self._json(Request(method, target, Message(), b"")).status
        except NoSuchKeyError:
            status = 404
        return f"Content-Type: application/http\r\n\r\nHTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n\r\n"

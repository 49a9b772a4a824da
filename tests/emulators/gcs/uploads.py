"""The uploads of the JSON API: in one request (with or without metadata), or resumable, in chunks."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.emulators.gcs import errors
from tests.emulators.gcs.json_api import answer, describe, expected_generation
from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import ObjectStore

_PATH = re.compile(r"(?:/resumable)?/upload/storage/v1/b/([^/]+)/o")
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_CANCELED = 499


@dataclass
class _Resumable:
    """An upload that was begun."""

    key: str
    expected: int | None
    received: bytearray = field(default_factory=bytearray)


class Uploads:
    """Answers requests below ``/upload/storage/v1``."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._begun: dict[str, _Resumable] = {}

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        found = _PATH.fullmatch(request.raw_path)
        if found is None:
            return errors.as_json(400, f"The stand-in knows no upload at {request.raw_path}")
        bucket = unquote(found.group(1))
        if "upload_id" in request.query:
            return self._continue(request, bucket)
        kinds = {"multipart": self._multipart, "media": self._media, "resumable": self._begin}
        return kinds[request.query["uploadType"]](request, bucket)

    def _multipart(self, request: Request, bucket: str) -> Answer:
        metadata, content_type, data = split_parts(request)
        described = json.loads(metadata)
        return self._store_object(
            bucket, described["name"], data, expected_generation(request), described.get("contentType", content_type)
        )

    def _media(self, request: Request, bucket: str) -> Answer:
        content_type = request.header("Content-Type")
        return self._store_object(
            bucket, request.query["name"], request.body, expected_generation(request), content_type
        )

    def _begin(self, request: Request, bucket: str) -> Answer:
        key = request.query.get("name") or json.loads(request.body)["name"]
        expected = expected_generation(request)
        self._store.check(bucket, key, expected)
        upload_id = uuid.uuid4().hex
        self._begun[upload_id] = _Resumable(key, expected)
        host, path = request.header("Host"), request.raw_path
        return Answer(headers={"Location": f"http://{host}{path}?uploadType=resumable&upload_id={upload_id}"})

    def _continue(self, request: Request, bucket: str) -> Answer:
        upload_id = request.query["upload_id"]
        if request.method == "DELETE":
            self._begun.pop(upload_id, None)
            return Answer(_CANCELED)
        upload = self._begun[upload_id]
        total = _receive(upload.received, request)
        if total is None or total > len(upload.received):
            return Answer(308, headers={"Range": f"bytes=0-{len(upload.received) - 1}"} if upload.received else {})
        stored = self._store_object(bucket, upload.key, bytes(upload.received), upload.expected)
        del self._begun[upload_id]
        return stored

    def _store_object(
        self, bucket: str, key: str, data: bytes, expected: int | None, content_type: str | None = None
    ) -> Answer:
        stored = self._store.put(bucket, key, data, content_type=content_type, expected=expected)
        return answer(describe(bucket, stored))


def split_parts(request: Request) -> tuple[bytes, str | None, bytes]:
    """The metadata, the content's type and the content of a multipart upload."""
    boundary = re.search(r'boundary="?([^";]+)', request.header("Content-Type") or "")
    if boundary is None:
        raise ValueError("a multipart upload must name its boundary")
    mark = b"--" + boundary.group(1).encode()
    head, body, tail = request.body.index(mark), request.body.index(mark, len(mark)), request.body.rindex(mark)
    metadata = _without_headers(request.body[head + len(mark) : body])[1]
    headers, data = _without_headers(request.body[body + len(mark) : tail])
    content_type = re.search(rb"Content-Type: ([^\r\n]+)", headers, re.IGNORECASE)
    data = data[:-2] if data.endswith(b"\r\n") else data[:-1]  # The line break belongs to the boundary.
    return metadata, content_type.group(1).decode() if content_type else None, data


def _without_headers(part: bytes) -> tuple[bytes, bytes]:
    headers, _, rest = part.partition(b"\r\n\r\n") if b"\r\n\r\n" in part else part.partition(b"\n\n")
    return headers, rest


def _receive(received: bytearray, request: Request) -> int | None:
    """Take a chunk in, at its place; return how long the whole is, or None as long as the client does not say."""
    found = _RANGE.fullmatch(request.header("Content-Range") or "")
    if found is None:  # All in one chunk.
        received[:] = request.body
        return len(received)
    start, total = found.groups()
    if start is not None:
        received[int(start) :] = request.body
    return None if total == "*" else int(total)

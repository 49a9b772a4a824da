"""The XML API, as pylance speaks it: objects, listings and uploads in parts."""

from __future__ import annotations

import base64
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.emulators.loopback import Answer, Request
from tests.emulators.media import content
from tests.emulators.objects import ConditionError, ObjectStore, Page, StoredObject
from tests.emulators.parts import DECLARATION, XML, MultipartUploads, completed, copied


class XmlApi:
    """Answers requests to ``/bucket`` and ``/bucket/key``."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._uploads = MultipartUploads()

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        bucket, key = request.bucket_and_key()
        self._store.check_bucket(bucket)
        if not key:
            return self._list(request, bucket)
        if "uploads" in request.query or "uploadId" in request.query:
            return self._upload(request, bucket, key)
        methods = {"PUT": self._put, "DELETE": self._delete, "GET": self._get, "HEAD": self._get}
        return methods[request.method](request, bucket, key)

    def _list(self, request: Request, bucket: str) -> Answer:
        query = request.query
        token = base64.urlsafe_b64decode(query.get("continuation-token", "")).decode()
        after, limit = token or query.get("start-after", ""), int(query.get("max-keys", 1000))
        page = self._store.page(bucket, query.get("prefix", ""), query.get("delimiter", ""), after, limit)
        return Answer(200, _listing(bucket, page), XML)

    def _upload(self, request: Request, bucket: str, key: str) -> Answer:
        if request.method == "POST" and "uploads" in request.query:
            return self._uploads.begin(bucket, key)
        if request.method == "PUT":
            self._uploads.add(request)
            return Answer(headers={"ETag": f'"{request.query["partNumber"]}"'})
        if request.method == "DELETE":
            self._uploads.forget(request)
            return Answer(204)
        data = self._uploads.assemble(request)
        stored = self._store.put(bucket, key, data, expected=_expected(request))
        self._uploads.forget(request)
        return Answer(200, completed(bucket, key, _etag(stored)), {**XML, **_headers(stored)})

    def _put(self, request: Request, bucket: str, key: str) -> Answer:
        source = request.header("x-goog-copy-source")
        data = request.body
        if source is not None:
            data = self._store.get(*_split(unquote(source))).data
        content_type = request.header("Content-Type")
        stored = self._store.put(bucket, key, data, content_type=content_type, expected=_expected(request))
        body = b"" if source is None else copied(_etag(stored), stored.iso_date)
        return Answer(200, body, {**XML, **_headers(stored)})

    def _delete(self, request: Request, bucket: str, key: str) -> Answer:
        self._store.delete(bucket, key, expected=_expected(request))
        return Answer(204)

    def _get(self, request: Request, bucket: str, key: str) -> Answer:
        stored = self._store.get(bucket, key)
        if request.header("If-None-Match") == _etag(stored):
            return Answer(304)
        if request.header("If-Match") not in {None, _etag(stored)}:
            raise ConditionError(key)
        return content(request, stored, _headers(stored))


def _expected(request: Request) -> int | None:
    asked = request.header("x-goog-if-generation-match")
    return None if asked is None else int(asked)


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.lstrip("/").partition("/")
    return bucket, key


def _etag(stored: StoredObject) -> str:
    return f'"{stored.generation}"'


def _headers(stored: StoredObject) -> dict[str, str]:
    return {"ETag": _etag(stored), "x-goog-generation": str(stored.generation), "x-goog-metageneration": "1"}


def _listing(bucket: str, page: Page) -> bytes:
    objects = "".join(
        f"<Contents><Key>{escape(stored.key)}</Key><Generation>{stored.generation}</Generation>"
        f"<LastModified>{stored.iso_date}</LastModified><ETag>{escape(_etag(stored))}</ETag>"
        f"<Size>{len(stored.data)}</Size></Contents>"
        for stored in page.objects
    )
    prefixes = "".join(
        f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>" for prefix in page.prefixes
    )
    more = ""
    if page.last is not None:
        token = base64.urlsafe_b64encode(page.last.encode()).decode()
        more = f"<NextContinuationToken>{token}</NextContinuationToken>"
    return (
        f"{DECLARATION}<ListBucketResult><Name>{bucket}</Name>"
        f"<IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}{objects}{prefixes}</ListBucketResult>"
    ).encode()

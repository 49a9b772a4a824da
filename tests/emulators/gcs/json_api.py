"""The JSON API: buckets, listings, objects and copies."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tests.emulators.gcs import errors
from tests.emulators.loopback import Answer, Request
from tests.emulators.media import content
from tests.emulators.objects import ObjectStore, StoredObject

_BUCKETS = re.compile(r"/storage/v1/b")
_BUCKET = re.compile(r"/storage/v1/b/([^/]+)(?:/storageLayout)?")
_LISTING = re.compile(r"/storage/v1/b/([^/]+)/o/?")
_COPY = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/(rewriteTo|copyTo)/b/([^/]+)/o/([^/]+)")
_OBJECT = re.compile(r"(?:/download)?/storage/v1/b/([^/]+)/o/(.+)")


class JsonApi:
    """Answers requests below ``/storage/v1``."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._routes = (
            (_BUCKETS, self._create_bucket),
            (_BUCKET, self._describe_bucket),
            (_LISTING, self._list),
            (_COPY, self._copy),
            (_OBJECT, self._object),
        )

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        for pattern, route in self._routes:
            if found := pattern.fullmatch(request.raw_path):
                return route(request, *map(unquote, found.groups()))
        return errors.as_json(400, f"The stand-in does not know {request.method} {request.raw_path}")

    def _create_bucket(self, request: Request) -> Answer:
        name = json.loads(request.body)["name"]
        if not self._store.create_bucket(name):
            return errors.as_json(409, "Your previous request to create the named bucket succeeded.")
        return answer({"kind": "storage#bucket", "name": name})

    def _describe_bucket(self, _: Request, bucket: str) -> Answer:
        self._store.check_bucket(bucket)
        return answer({"kind": "storage#bucket", "name": bucket, "location": "US", "storageClass": "STANDARD"})

    def _list(self, request: Request, bucket: str) -> Answer:
        query = request.query
        page = self._store.page(
            bucket,
            query.get("prefix", ""),
            query.get("delimiter", ""),
            base64.urlsafe_b64decode(query.get("pageToken", "")).decode(),
            int(query.get("maxResults", 1000)),
        )
        body: dict[str, Any] = {
            "kind": "storage#objects",
            "items": [describe(bucket, stored) for stored in page.objects],
            "prefixes": page.prefixes,
        }
        if page.last is not None:
            body["nextPageToken"] = base64.urlsafe_b64encode(page.last.encode()).decode()
        return answer(body)

    def _copy(self, request: Request, bucket: str, key: str, how: str, to_bucket: str, to_key: str) -> Answer:
        source = self._store.get(bucket, key)
        copied = self._store.put(
            to_bucket, to_key, source.data, content_type=source.content_type, expected=expected_generation(request)
        )
        resource = describe(to_bucket, copied)
        if how == "copyTo":
            return answer(resource)
        size = str(len(copied.data))
        return answer({"done": True, "objectSize": size, "totalBytesRewritten": size, "resource": resource})

    def _object(self, request: Request, bucket: str, key: str) -> Answer:
        if request.method == "DELETE":
            self._store.delete(bucket, key, expected=expected_generation(request))
            return Answer(204)
        stored = self._store.get(bucket, key)
        if request.query.get("alt") == "media":
            return content(request, stored, {"ETag": f'"{stored.generation}"'})
        return answer(describe(bucket, stored))


def answer(body: Mapping[str, Any]) -> Answer:
    """A JSON answer."""
    return Answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def expected_generation(request: Request) -> int | None:
    """The condition of a request; 0 means that there must be no such object."""
    asked = request.query.get("ifGenerationMatch")
    return None if asked is None else int(asked)


def describe(bucket: str, stored: StoredObject) -> dict[str, str]:
    """An object's metadata."""
    return {
        "kind": "storage#object",
        "id": f"{bucket}/{stored.key}/{stored.generation}",
        "name": stored.key,
        "bucket": bucket,
        "generation": str(stored.generation),
        "metageneration": "1",
        "size": str(len(stored.data)),
        "contentType": stored.content_type,
        "md5Hash": base64.b64encode(stored.md5).decode(),
        "etag": str(stored.generation),
        "updated": stored.iso_date,
        "timeCreated": stored.iso_date,
        "storageClass": "STANDARD",
    }

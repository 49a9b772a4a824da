"""Alibaba Cloud's Object Storage Service in memory, with the bucket in the path, as pylance and ossfs speak to it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import unquote
from xml.sax.saxutils import unescape

from tests.emulators.loopback import Answer, Request
from tests.emulators.media import content
from tests.emulators.objects import ABSENT, ConditionError, NoSuchBucketError, NoSuchKeyError, ObjectStore
from tests.emulators.oss import answers
from tests.emulators.oss.signature import AccessKey, is_signed
from tests.emulators.parts import XML, MultipartUploads, completed, copied
from tests.emulators.serving import serving

MOST_DELETES = 1000
"""As many keys OSS takes in one batch."""


class OssService:
    """The service; a request that none of the known keys has signed is refused."""

    def __init__(self, store: ObjectStore, keys: dict[str, AccessKey]) -> None:
        self.store = store
        self.keys = keys
        self._uploads = MultipartUploads()

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        if not is_signed(request, self.keys):
            return answers.error(403, "SignatureDoesNotMatch")
        bucket, key = request.bucket_and_key()
        try:
            return self._object(request, bucket, key) if key else self._bucket(request, bucket)
        except NoSuchBucketError:
            return answers.error(404, "NoSuchBucket")
        except NoSuchKeyError:
            return answers.error(404, "NoSuchKey")
        except ConditionError:
            return answers.error(409, "FileAlreadyExists")

    def _bucket(self, request: Request, bucket: str) -> Answer:
        if request.method == "PUT":
            self.store.create_bucket(bucket)
            return Answer()
        self.store.check_bucket(bucket)
        if "bucketInfo" in request.query:
            return answers.bucket_info(bucket)
        return self._delete_many(request, bucket) if "delete" in request.query else self._list(request, bucket)

    def _list(self, request: Request, bucket: str) -> Answer:
        query = request.query
        token = base64.urlsafe_b64decode(query.get("continuation-token", "")).decode()
        after = token or query.get("start-after") or query.get("marker") or ""
        limit = int(query.get("max-keys") or 100)
        page = self.store.page(bucket, query.get("prefix", ""), query.get("delimiter", ""), after, limit)
        return answers.listing(request, bucket, page)

    def _delete_many(self, request: Request, bucket: str) -> Answer:
        keys = [unescape(key) for key in re.findall(r"<Key>(.*?)</Key>", request.body.decode(), re.DOTALL)]
        if not 0 < len(keys) <= MOST_DELETES:
            return answers.error(400, "MalformedXML")
        for key in keys:
            self._delete_key(bucket, key)
        return answers.deleted(request, keys)

    def _object(self, request: Request, bucket: str, key: str) -> Answer:
        self.store.check_bucket(bucket)
        if "uploads" in request.query or "uploadId" in request.query:
            return self._upload(request, bucket, key)
        if request.method == "PUT":
            return self._put(request, bucket, key)
        if request.method == "DELETE":
            self._delete_key(bucket, key)
            return Answer(204)
        stored = self.store.get(bucket, key)
        return content(request, stored, {"ETag": answers.etag(stored), "x-oss-object-type": "Normal"})

    def _put(self, request: Request, bucket: str, key: str) -> Answer:
        source = request.header("x-oss-copy-source")
        data = request.body
        if source is not None:
            from_bucket, _, from_key = unquote(source).lstrip("/").partition("/")
            data = self.store.get(from_bucket, from_key).data
        content_type = request.header("Content-Type")
        stored = self.store.put(bucket, key, data, content_type=content_type, expected=_expected(request))
        body = b"" if source is None else copied(answers.etag(stored), stored.iso_date)
        return Answer(200, body, {**XML, "ETag": answers.etag(stored)})

    def _upload(self, request: Request, bucket: str, key: str) -> Answer:
        if request.method == "POST" and "uploads" in request.query:
            self.store.check(bucket, key, _expected(request))
            return self._uploads.begin(bucket, key)
        if request.method == "PUT":
            self._uploads.add(request)
            return Answer(headers={"ETag": f'"{request.query["partNumber"]}"'})
        if request.method == "DELETE":
            self._uploads.forget(request)
            return Answer(204)
        data = self._uploads.assemble(request)
        stored = self.store.put(bucket, key, data, expected=_expected(request))
        self._uploads.forget(request)
        return Answer(200, completed(bucket, key, answers.etag(stored)), XML)

    def _delete_key(self, bucket: str, key: str) -> None:
        with suppress(NoSuchKeyError):  # To OSS, what is gone already is deleted.
            self.store.delete(bucket, key)


def _expected(request: Request) -> int | None:
    return ABSENT if (request.header("x-oss-forbid-overwrite") or "").lower() == "true" else None


@dataclass(frozen=True)
class OssServer:
    """A running stand-in."""

    endpoint: str
    service: OssService


@contextmanager
def oss_server(*buckets: str, keys: dict[str, AccessKey]) -> Iterator[OssServer]:
    """Run a stand-in with empty buckets."""
    service = OssService(ObjectStore(buckets), keys)
    with serving(service) as endpoint:
        yield OssServer(endpoint, service)

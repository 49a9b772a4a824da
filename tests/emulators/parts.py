"""The parts of the XML protocols that GCS and OSS both have from S3: uploads in parts, and lists of part numbers."""

from __future__ import annotations

import re
import uuid
from xml.sax.saxutils import escape

from tests.emulators.loopback import Answer, Request

XML = {"Content-Type": "application/xml"}
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


class MultipartUploads:
    """Uploads in parts that were begun and not finished."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[int, bytes]] = {}

    def begin(self, bucket: str, key: str) -> Answer:
        """A new upload."""
        upload_id = uuid.uuid4().hex
        self._parts[upload_id] = {}
        body = (
            f"{DECLARATION}<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
            f"<UploadId>{upload_id}</UploadId></InitiateMultipartUploadResult>"
        )
        return Answer(200, body.encode(), XML)

    def add(self, request: Request) -> None:
        """Take one part in; the same number again replaces it."""
        self._parts[request.query["uploadId"]][int(request.query["partNumber"])] = request.body

    def assemble(self, request: Request) -> bytes:
        """The whole, of the parts that the request to complete it names."""
        parts = self._parts[request.query["uploadId"]]
        return b"".join(parts[int(number)] for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", request.body))

    def forget(self, request: Request) -> None:
        """Complete or aborted: the parts are not needed any more."""
        self._parts.pop(request.query["uploadId"], None)


def completed(bucket: str, key: str, etag: str) -> bytes:
    """What the completion of an upload answers."""
    return (
        f"{DECLARATION}<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
        f"<ETag>{escape(etag)}</ETag></CompleteMultipartUploadResult>"
    ).encode()


def copied(etag: str, iso_date: str) -> bytes:
    """What a copy answers."""
    return (
        f"{DECLARATION}<CopyObjectResult><ETag>{escape(etag)}</ETag><LastModified>{iso_date}</LastModified>"
        "</CopyObjectResult>"
    ).encode()

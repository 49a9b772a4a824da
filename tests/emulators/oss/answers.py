"""What OSS answers, in its XML."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from urllib.parse import quote
from xml.sax.saxutils import escape

from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import Page, StoredObject
from tests.emulators.parts import DECLARATION, XML


def error(status: int, code: str) -> Answer:
    """An error of the service."""
    body = f"{DECLARATION}<Error><Code>{code}</Code><Message>{code}</Message><RequestId>0</RequestId></Error>"
    return Answer(status, body.encode(), {**XML, "x-oss-request-id": "0"})


def etag(stored: StoredObject) -> str:
    """OSS's ETags are checksums."""
    return f'"{stored.md5.hex().upper()}"'


def bucket_info(bucket: str) -> Answer:
    """A bucket's description, with all that Alibaba's client reads."""
    body = (
        f"{DECLARATION}<BucketInfo><Bucket><Name>{bucket}</Name><CreationDate>2026-01-01T00:00:00.000Z</CreationDate>"
        "<ExtranetEndpoint>127.0.0.1</ExtranetEndpoint><IntranetEndpoint>127.0.0.1</IntranetEndpoint>"
        "<Location>oss-test</Location><StorageClass>Standard</StorageClass>"
        "<Owner><ID>0</ID><DisplayName>0</DisplayName></Owner>"
        "<AccessControlList><Grant>private</Grant></AccessControlList></Bucket></BucketInfo>"
    )
    return Answer(200, body.encode(), XML)


def listing(request: Request, bucket: str, page: Page) -> Answer:
    """A page of a listing, of either version of the call."""
    encode = _encoding(request)
    objects = "".join(
        f"<Contents><Key>{encode(stored.key)}</Key><LastModified>{stored.iso_date}</LastModified>"
        f"<ETag>{escape(etag(stored))}</ETag><Type>Normal</Type><Size>{len(stored.data)}</Size>"
        "<StorageClass>Standard</StorageClass></Contents>"
        for stored in page.objects
    )
    prefixes = "".join(
        f"<CommonPrefixes><Prefix>{encode(prefix)}</Prefix></CommonPrefixes>" for prefix in page.prefixes
    )
    body = (
        f"{DECLARATION}<ListBucketResult><Name>{bucket}</Name>"
        f"<Prefix>{encode(request.query.get('prefix', ''))}</Prefix>"
        f"<KeyCount>{len(page.objects) + len(page.prefixes)}</KeyCount>{_encoding_type(request)}"
        f"<IsTruncated>{str(page.last is not None).lower()}</IsTruncated>{_next(request, page)}{objects}{prefixes}"
        "</ListBucketResult>"
    )
    return Answer(200, body.encode(), XML)


def deleted(request: Request, keys: Iterable[str]) -> Answer:
    """What a batch of deletions answers, unless it was to be quiet."""
    encode = _encoding(request)
    is_quiet = b"<Quiet>true</Quiet>" in request.body
    rows = "" if is_quiet else "".join(f"<Deleted><Key>{encode(key)}</Key></Deleted>" for key in keys)
    body = f"{DECLARATION}<DeleteResult>{_encoding_type(request)}{rows}</DeleteResult>"
    return Answer(200, body.encode(), XML)


def _next(request: Request, page: Page) -> str:
    if page.last is None:
        return ""
    if request.query.get("list-type") == "2":
        token = base64.urlsafe_b64encode(page.last.encode()).decode()
        return f"<NextContinuationToken>{token}</NextContinuationToken>"
    return f"<NextMarker>{_encoding(request)(page.last)}</NextMarker>"


def _encoding_type(request: Request) -> str:
    return "<EncodingType>url</EncodingType>" if request.query.get("encoding-type") == "url" else ""


def _encoding(request: Request) -> Callable[[str], str]:
    """Names are quoted if the client asks for it."""
    return quote if request.query.get("encoding-type") == "url" else escape

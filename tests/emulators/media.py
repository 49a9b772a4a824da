"""An object's content as an answer: whole, or the range that was asked for."""

from __future__ import annotations

from collections.abc import Mapping

from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import RangeError, StoredObject, cut


def content(request: Request, stored: StoredObject, headers: Mapping[str, str]) -> Answer:
    """What a GET or HEAD of an object answers; ``headers`` are those of the store."""
    common = {
        "Content-Type": stored.content_type,
        "Last-Modified": stored.http_date,
        "Accept-Ranges": "bytes",
        **headers,
    }
    try:
        part = cut(stored.data, request.header("Range"))
    except RangeError:
        return Answer(416, headers={"Content-Range": f"bytes */{len(stored.data)}"})
    if part is None:
        return Answer(200, stored.data, common)
    first, last = part
    shown = f"bytes {first}-{last}/{len(stored.data)}"
    return Answer(206, stored.data[first : last + 1], {**common, "Content-Range": shown})

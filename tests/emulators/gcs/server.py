"""Google Cloud Storage in memory: the JSON API, which gcsfs speaks, and the XML API, which pylance speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.emulators.gcs import errors
from tests.emulators.gcs.batch import Batch
from tests.emulators.gcs.json_api import JsonApi
from tests.emulators.gcs.uploads import Uploads
from tests.emulators.gcs.xml_api import XmlApi
from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import ConditionError, NoSuchBucketError, NoSuchKeyError, ObjectStore
from tests.emulators.serving import serving

_JSON_PATHS = re.compile(r"/(download/|upload/|resumable/upload/)?(storage/v1|batch/storage)(/|$)")


class GcsService:
    """Both APIs on one store; a request without one of the known tokens is refused."""

    def __init__(self, store: ObjectStore, token: str) -> None:
        self.store = store
        self.tokens = {token}
        self._json = JsonApi(store)
        self._uploads = Uploads(store)
        self._xml = XmlApi(store)
        self._batch = Batch(self._json)

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        speaks_json = _JSON_PATHS.match(request.raw_path) is not None
        describe = errors.as_json if speaks_json else errors.as_xml
        scheme, _, token = (request.header("Authorization") or "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            return describe(401, "Invalid Credentials")
        try:
            return self._dispatch(request) if speaks_json else self._xml(request)
        except NoSuchBucketError:
            return describe(404, "The specified bucket does not exist.")
        except NoSuchKeyError as error:
            return describe(404, f"No such object: {error}")
        except ConditionError:
            return describe(412, "At least one of the pre-conditions you specified did not hold.")

    def _dispatch(self, request: Request) -> Answer:
        if request.raw_path.startswith("/batch/"):
            return self._batch(request)
        return self._uploads(request) if "/upload/" in request.raw_path else self._json(request)


@dataclass(frozen=True)
class GcsServer:
    """A running stand-in."""

    endpoint: str
    service: GcsService


@contextmanager
def gcs_server(*buckets: str, token: str) -> Iterator[GcsServer]:
    """Run a stand-in with empty buckets."""
    service = GcsService(ObjectStore(buckets), token)
    with serving(service) as endpoint:
        yield GcsServer(endpoint, service)

"""Moto: an S3 that stores."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "lake"


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """Moto looks whether a key exists and then stores it; S3 does both at once, so here that takes a lock."""
    from moto.s3.responses import S3Response
    from moto.server import ThreadedMotoServer

    lock = threading.Lock()
    put_object = S3Response.put_object

    def locked(self: S3Response) -> Any:
        with lock:
            return put_object(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Response, "put_object", locked)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def moto_options(moto_endpoint: str) -> Iterator[dict[str, str]]:
    """Options for a moto with one empty bucket."""
    from s3fs import S3FileSystem

    options = {
        "endpoint": moto_endpoint,
        "access_key_id": "testing",
        "secret_access_key": "hush",
        "region": "us-east-1",
    }
    owner = S3FileSystem(key="testing", secret="hush", endpoint_url=moto_endpoint, use_listings_cache=False)
    owner.mkdir(BUCKET)
    yield options
    owner.rm(BUCKET, recursive=True)

"""S3 by moto, in a server of our own.

Moto's own server first finds out which of Amazon's services a request is for, which takes longer than all the rest.
And moto looks whether a key exists before it stores it, where S3 does both at once: here that takes a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

REGION = "us-east-1"


@contextmanager
def s3_server() -> Iterator[str]:
    """Run it on a free port; the address is ``http://127.0.0.1:...``."""
    from moto.moto_server.werkzeug_app import create_backend_app
    from moto.s3.responses import S3Response
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        disable_nagle_algorithm = True

        def log(self, *_: Any) -> None:
            """Nobody reads it."""

    lock = threading.Lock()
    put_object = S3Response.put_object

    def locked(self: S3Response) -> Any:
        with lock:
            return put_object(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Response, "put_object", locked)
        server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@contextmanager
def unconditional() -> Iterator[None]:
    """As long as this lasts, moto does not look at the condition of a write, for tests that must be seen to fail."""
    from moto.s3.responses import S3Response

    put_object = S3Response.put_object

    def without_condition(self: S3Response) -> Any:
        self.headers = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
        return put_object(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Response, "put_object", without_condition)
        yield


@contextmanager
def refusing_conditions() -> Iterator[None]:
    """As long as this lasts, moto answers a write on a condition as stores do that know of no conditions."""
    from moto.s3.responses import S3Response

    put_object = S3Response.put_object

    def refusing(self: S3Response) -> Any:
        if "If-None-Match" not in self.headers:
            return put_object(self)
        return 501, {}, "<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(S3Response, "put_object", refusing)
        yield

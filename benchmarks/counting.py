"""An S3 on this machine that counts the requests it gets."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

_KINDS = {
    "__manifest/_versions": "manifest's versions",
    "__manifest/data": "manifest's data",
    "__manifest/": "manifest's other files",
    ".lance-reserved": "marks",
    ".lance-deregistered": "marks",
    "/_versions": "table's versions",
    "/_transactions": "table's transactions",
    "/data": "table's data",
    ".lance": "table's directory",
}
"""What a key is by what is in it; the first that matches decides."""


class CountingStore:
    """The requests since the last time somebody asked, by method and kind of key."""

    def __init__(self) -> None:
        self.bucket = f"bench-{uuid.uuid4().hex}"
        self.options: dict[str, str] = {}
        """What a directory catalog needs to reach it."""
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()

    def take(self) -> Counter[str]:
        """What was counted, which is forgotten."""
        with self._lock:
            seen, self._seen = self._seen, Counter()
        return seen

    def counting(self, application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        """A WSGI application around the one that stores."""

        def counted(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            with self._lock:
                self._seen[_describe(environ)] += 1
            return application(environ, start_response)

        return counted


@contextmanager
def counting_store() -> Iterator[CountingStore]:
    """Run a store with an empty bucket."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = CountingStore()
    application = store.counting(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store.options = {
        "storage.endpoint": f"http://127.0.0.1:{server.server_port}",
        "storage.region": "us-east-1",
        "storage.access_key_id": "bench",
        "storage.secret_access_key": "bench",
        "storage.allow_http": "true",
    }
    _make_bucket(store.options["storage.endpoint"], store.bucket)
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _make_bucket(endpoint: str, bucket: str) -> None:
    from s3fs import S3FileSystem

    user = {"key": "bench", "secret": "bench"}
    S3FileSystem(endpoint_url=endpoint, skip_instance_cache=True, **user).mkdir(bucket)


def _describe(environ: dict[str, Any]) -> str:
    """The method and what it is about; a listing is what S3 bills as one."""
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    if "list-type" in query:
        return f"LIST {_kind(query.get('prefix', [''])[0])}"
    if "delete" in query:
        return "POST deletion of many"
    return f"{environ['REQUEST_METHOD']} {_kind(environ['PATH_INFO'])}"


def _kind(key: str) -> str:
    return next((kind for part, kind in _KINDS.items() if part in key), "directory")

"""Temporary credentials in the stand-ins: what they may do, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.emulators.loopback import Answer, Request
from tests.emulators.objects import ObjectStore, Page, StoredObject
from tests.emulators.serving import Service


class DeniedError(Exception):
    """The credentials of the request do not allow it."""


@dataclass(frozen=True)
class Grant:
    """What credentials are worth."""

    allows: Callable[[str, str, str], bool]
    """Whether they allow an action (read, list, write or delete) on a bucket's key or prefix."""
    expires_at: float


class GuardedStore(ObjectStore):
    """A store that looks whose request it serves; who has no grant is the owner and may do all."""

    def __init__(self, buckets: Iterable[str]) -> None:
        super().__init__(buckets)
        self.grants: dict[str, Grant] = {}
        self._serving = threading.local()

    @contextmanager
    def serve(self, grant: Grant | None) -> Iterator[None]:
        """Serve a request of this thread with a grant."""
        self._serving.grant = grant
        try:
            yield
        finally:
            self._serving.grant = None

    def get(self, bucket: str, key: str) -> StoredObject:
        """Read an object."""
        self._require("read", bucket, key)
        return super().get(bucket, key)

    def put(
        self, bucket: str, key: str, data: bytes, *, content_type: str | None = None, expected: int | None = None
    ) -> StoredObject:
        """Write an object."""
        self._require("write", bucket, key)
        return super().put(bucket, key, data, content_type=content_type, expected=expected)

    def delete(self, bucket: str, key: str, *, expected: int | None = None) -> None:
        """Delete an object."""
        self._require("delete", bucket, key)
        super().delete(bucket, key, expected=expected)

    def page(self, bucket: str, prefix: str, delimiter: str, after: str, limit: int) -> Page:
        """A part of a listing."""
        self._require("list", bucket, prefix)
        return super().page(bucket, prefix, delimiter, after, limit)

    def _require(self, action: str, bucket: str, key: str) -> None:
        grant: Grant | None = getattr(self._serving, "grant", None)
        if grant is not None and not grant.allows(action, bucket, key):
            raise DeniedError(f"{action} {bucket}/{key}")


def guarded(
    service: Service, store: GuardedStore, who: Callable[[Request], str], refuse: Callable[[int], Answer]
) -> Service:
    """The service, which refuses what the credentials of a request do not allow (403), and expired ones (401)."""

    def serve(request: Request) -> Answer:
        grant = store.grants.get(who(request))
        if grant is not None and grant.expires_at <= time.time():
            return refuse(401)
        try:
            with store.serve(grant):
                return service(request)
        except DeniedError:
            return refuse(403)

    return serve

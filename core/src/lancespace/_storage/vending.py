"""Credential vending: a catalog hands out temporary credentials for one table instead of its own.

A storage plugin asks its cloud for them (``vend_credentials``); here they are kept, so that many clients of one table
cost one request to the cloud, and nobody is given credentials that are about to expire.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace._properties import Property, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lancespace._connection import Connection
    from lancespace._storage.store import Credentials, Storage

FAMILY = "credential_vendor."
ENABLED = f"{FAMILY}enabled"
PERMISSION = f"{FAMILY}permission"
PERMISSIONS = ("read", "write", "admin")

VENDOR_PROPERTIES = (
    Property(ENABLED, "Hand out temporary credentials for each table with its location", type=bool),
    Property(
        PERMISSION,
        "What they allow below the table's location: reading; also adding files; also deleting them",
        default="read",
        choices=PERMISSIONS,
    ),
    Property(FAMILY, "How the store's plugin gets them, e.g. credential_vendor.aws_role_arn"),
)
"""What a backend declares to vend credentials; what belongs to a store is declared by its plugin."""

LEAST_LIFE_MILLIS = 5 * 60 * 1000
"""Credentials with less to live are not handed out again; pylance asks for new ones a minute before they expire."""
MOST_TABLES = 4096


class CredentialVendor:
    """The temporary credentials of a connection's tables, with what else a client needs to reach the store."""

    def __init__(self, connection: Connection, permission: str, settings: Mapping[str, Any]) -> None:
        self._connection = connection
        self._permission = permission
        self._settings = settings
        self._cache = CredentialCache()

    def options(self, location: str) -> dict[str, str]:
        """The ``storage_options`` of an answer: they open this table, and no other."""
        key = (location, self._permission)
        credentials = self._cache.get(key, lambda: self._vend(location))
        return {**credentials.storage_options, "expires_at_millis": str(credentials.expires_at_millis)}

    def _vend(self, location: str) -> Credentials:
        return self._connection.storage(location).vend_credentials(self._permission, self._settings)


def make_vendor(connection: Connection, storage: Storage) -> CredentialVendor | None:
    """The vendor that the ``credential_vendor.*`` properties ask for, or None if they ask for none.

    Raises:
        InvalidInputError: If the store vends no credentials, or its plugin does not know one of the properties.
    """
    settings = connection.settings
    given = {f"{FAMILY}{name}": value for name, value in settings.family(FAMILY).items()}
    if given and settings[ENABLED] is None:
        raise InvalidInputError(f"Nothing is vended without {ENABLED}: set it too, or leave out {', '.join(given)}.")
    if not settings[ENABLED]:
        return None
    of_the_store = storage.vendor_properties()
    if of_the_store is None:
        raise InvalidInputError(f"{ENABLED}: {storage!r} has no credentials to hand out: leave it out.")
    known = (*VENDOR_PROPERTIES[:-1], *of_the_store)
    return CredentialVendor(connection, settings[PERMISSION], Settings(known, given, owner=f"{storage!r}"))


def split_location(location: str) -> tuple[str, str]:
    """The bucket and the prefix of a location, as they are: to no store is a ``#`` or ``?`` in a key special."""
    bucket, _, prefix = location.partition("://")[2].partition("/")
    return bucket, prefix.strip("/")


def check_life(name: str, millis: int, least: timedelta, most: timedelta) -> timedelta:
    """How long credentials are to live, in whole seconds, from the value of a property.

    Raises:
        InvalidInputError: If the store gives them no such life.
    """
    life = timedelta(seconds=millis // 1000)
    if not least <= life <= most:
        bounds = " and ".join(str(bound // timedelta(milliseconds=1)) for bound in (least, most))
        raise InvalidInputError(f"{name} must be between {bounds} ({least} to {most}), not {millis}.")
    return life


@dataclass(frozen=True)
class _Entry:
    credentials: Credentials
    fresh_until_millis: float


class CredentialCache:
    """Credentials by key: asked for once by many callers, and again when they have little left to live."""

    def __init__(self, limit: int = MOST_TABLES, now: Callable[[], float] = time.time) -> None:
        self._limit = limit
        self._now = now
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._under_way: dict[tuple[str, str], Future[Credentials]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[str, str], fetch: Callable[[], Credentials]) -> Credentials:
        """The credentials of a key; callers that come while they are fetched share the answer, or the failure."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and self._now() * 1000 < entry.fresh_until_millis:
                self._entries.move_to_end(key)
                return entry.credentials
            answer = self._under_way.get(key)
            is_first = answer is None
            if answer is None:
                answer = self._under_way[key] = Future()
        if is_first:
            self._fetch(key, fetch, answer)
        return answer.result()

    def _fetch(self, key: tuple[str, str], fetch: Callable[[], Credentials], answer: Future[Credentials]) -> None:
        try:
            credentials = fetch()
        except BaseException as error:  # noqa: BLE001 - it is the answer: whoever asked raises it.
            with self._lock:
                del self._under_way[key]
            answer.set_exception(error)
            return
        with self._lock:
            del self._under_way[key]
            self._keep(key, credentials)
        answer.set_result(credentials)

    def _keep(self, key: tuple[str, str], credentials: Credentials) -> None:
        """Short-lived credentials are handed out for half their life: keeping more would leave none to hand out."""
        life = credentials.expires_at_millis - self._now() * 1000
        fresh_until = credentials.expires_at_millis - min(LEAST_LIFE_MILLIS, life / 2)
        self._entries[key] = _Entry(credentials, fresh_until)
        self._entries.move_to_end(key)
        while len(self._entries) > self._limit:
            self._entries.popitem(last=False)

"""Buckets of objects in memory, with conditions that hold: what the GCS and the OSS stand-in have in common."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import format_datetime

ABSENT = 0
"""The generation that an object has while there is none."""


class NoSuchBucketError(Exception):
    """There is no such bucket."""


class NoSuchKeyError(Exception):
    """There is no such object."""


class ConditionError(Exception):
    """The object does not have the generation that the writer expected."""


class RangeError(Exception):
    """The range begins behind the end."""


@dataclass(frozen=True)
class StoredObject:
    """One generation of an object; it never changes."""

    key: str
    data: bytes
    generation: int
    content_type: str
    modified: datetime

    @functools.cached_property
    def md5(self) -> bytes:
        """The checksum of the content."""
        return hashlib.md5(self.data).digest()

    @property
    def http_date(self) -> str:
        """When it was written, as headers say it."""
        return format_datetime(self.modified, usegmt=True)

    @property
    def iso_date(self) -> str:
        """When it was written, as listings say it; OSS knows no fractions of seconds, and its client none either."""
        return self.modified.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True)
class Page:
    """A part of a listing."""

    objects: list[StoredObject]
    prefixes: list[str]
    last: str | None
    """Where the next page goes on; None if there is none."""


@dataclass
class _Bucket:
    objects: dict[str, StoredObject] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    """All keys, sorted."""

    def listing(self, prefix: str, delimiter: str, after: str) -> Iterable[str]:
        """The keys and common prefixes of a listing, in order."""
        at = bisect.bisect_left(self.keys, prefix) if prefix > after else bisect.bisect_right(self.keys, after)
        while at < len(self.keys) and self.keys[at].startswith(prefix):
            key = self.keys[at]
            inside, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if not found:
                yield key
                at += 1
                continue
            common = f"{prefix}{inside}{delimiter}"
            if common > after:
                yield common
            at = bisect.bisect_left(self.keys, _behind(common))


class ObjectStore:
    """All buckets; every change and every look at a condition happens under one lock."""

    def __init__(self, buckets: Iterable[str]) -> None:
        self.checks_conditions = True
        """False makes it a store that takes every write, for tests that must be seen to fail on such a one."""
        self._buckets = {name: _Bucket() for name in buckets}
        self._lock = threading.RLock()
        self._generations = itertools.count(1_700_000_000_000_000)

    def create_bucket(self, name: str) -> bool:
        """Make a bucket; False if it is there already."""
        with self._lock:
            is_new = name not in self._buckets
            self._buckets.setdefault(name, _Bucket())
            return is_new

    def check_bucket(self, name: str) -> None:
        """Raise NoSuchBucketError if there is no such bucket."""
        self._bucket(name)

    def put(
        self, bucket: str, key: str, data: bytes, *, content_type: str | None = None, expected: int | None = None
    ) -> StoredObject:
        """Write an object, if what is there now has the expected generation (or if no generation is expected)."""
        with self._lock:
            there = self._bucket(bucket)
            self._check(there, key, expected)
            now = datetime.now(timezone.utc)
            stored = StoredObject(
                key, bytes(data), next(self._generations), content_type or "application/octet-stream", now
            )
            if key not in there.objects:
                bisect.insort(there.keys, key)
            there.objects[key] = stored
            return stored

    def get(self, bucket: str, key: str) -> StoredObject:
        """Read an object."""
        with self._lock:
            try:
                return self._bucket(bucket).objects[key]
            except KeyError:
                raise NoSuchKeyError(key) from None

    def delete(self, bucket: str, key: str, *, expected: int | None = None) -> None:
        """Delete an object, if it has the expected generation."""
        with self._lock:
            there = self._bucket(bucket)
            if key not in there.objects:
                raise NoSuchKeyError(key)
            self._check(there, key, expected)
            del there.objects[key]
            del there.keys[bisect.bisect_left(there.keys, key)]

    def check(self, bucket: str, key: str, expected: int | None) -> None:
        """Raise ConditionError if the object does not have the expected generation now."""
        with self._lock:
            self._check(self._bucket(bucket), key, expected)

    def page(self, bucket: str, prefix: str, delimiter: str, after: str, limit: int) -> Page:
        """A part of a listing: what comes behind ``after``, up to a limit."""
        with self._lock:
            there = self._bucket(bucket)
            found = list(itertools.islice(there.listing(prefix, delimiter, after), limit + 1))
            shown = found[:limit]
            objects = [there.objects[name] for name in shown if name in there.objects]
            prefixes = [name for name in shown if name not in there.objects]
            return Page(objects, prefixes, shown[-1] if len(found) > limit else None)

    def _bucket(self, name: str) -> _Bucket:
        try:
            return self._buckets[name]
        except KeyError:
            raise NoSuchBucketError(name) from None

    def _check(self, bucket: _Bucket, key: str, expected: int | None) -> None:
        if expected is None or not self.checks_conditions:
            return
        there = bucket.objects.get(key)
        if expected != (there.generation if there else ABSENT):
            raise ConditionError(key)


def cut(data: bytes, asked: str | None) -> tuple[int, int] | None:
    """The part of the data that a ``Range`` header asks for, as its first and last byte; None if it asks for all."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "")
    if not found or found.group(0) == "bytes=-":
        return None
    first, last = found.groups()
    start = int(first) if first else max(0, len(data) - int(last))
    end = min(int(last), len(data) - 1) if first and last else len(data) - 1
    if start > end:
        raise RangeError
    return start, end


def _behind(prefix: str) -> str:
    """The first text that is behind all that begin with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)

"""Credentials are asked for once by many, again before they expire, and not kept without end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from lance_namespace import ServiceUnavailableError

from lancespace._storage.vending import LEAST_LIFE_MILLIS, CredentialCache
from lancespace.authoring import Credentials, split_location

KEY = ("s3://lake/orders.lance", "read")
HOUR = 3_600_000
MINUTE = 60_000
CALLERS = 16


class Vendor:
    """Vends numbered credentials, on a clock that stands still until it is told otherwise."""

    def __init__(self, life_millis: int = HOUR) -> None:
        self.life_millis = life_millis
        self.now_millis = 1_700_000_000_000
        self.vended = 0
        self.cache = CredentialCache(limit=2, now=lambda: self.now_millis / 1000)

    def vend(self) -> Credentials:
        self.vended += 1
        return Credentials({"token": f"token-{self.vended}"}, self.now_millis + self.life_millis)

    def get(self, key: tuple[str, str] = KEY) -> str:
        return self.cache.get(key, self.vend).storage_options["token"]


def test_they_are_kept_per_table_and_permission():
    vendor = Vendor()
    assert [vendor.get(), vendor.get()] == ["token-1", "token-1"]
    assert vendor.get((KEY[0], "write")) == "token-2"
    assert vendor.get() == "token-1"


@pytest.mark.parametrize("life", [HOUR, 15 * MINUTE])
def test_nobody_gets_any_that_are_about_to_expire(life: int):
    vendor = Vendor(life)
    vendor.get()
    vendor.now_millis += life - LEAST_LIFE_MILLIS - 1
    assert vendor.get() == "token-1"
    vendor.now_millis += 1
    assert vendor.get() == "token-2"


def test_a_short_life_is_used_for_its_half():
    vendor = Vendor(MINUTE)
    vendor.get()
    vendor.now_millis += MINUTE // 2 - 1
    assert vendor.get() == "token-1"
    vendor.now_millis += 1
    assert vendor.get() == "token-2"


def test_the_table_that_was_asked_for_longest_ago_is_forgotten():
    vendor = Vendor()
    one, two, three = (("one", "read"), ("two", "read"), ("three", "read"))
    assert [vendor.get(key) for key in (one, two, one, three)] == ["token-1", "token-2", "token-1", "token-3"]
    assert len(vendor.cache) == 2
    assert vendor.get(one) == "token-1"
    assert vendor.get(two) == "token-4"


def test_many_callers_at_once_cost_one_request():
    vendor, start, slow = Vendor(), threading.Barrier(CALLERS), threading.Event()

    def vend() -> Credentials:
        slow.wait(10)
        return vendor.vend()

    def call(number: int) -> str:
        start.wait()
        if number == 0:
            slow.set()
        return vendor.cache.get(KEY, vend).storage_options["token"]

    with ThreadPoolExecutor(CALLERS) as pool:
        assert set(pool.map(call, range(CALLERS))) == {"token-1"}
    assert vendor.vended == 1


class Seen(str):
    """A location that tells when it is looked up; who looks it up is then bound to wait for the one before."""

    __slots__ = ()
    event = threading.Event()

    def __hash__(self) -> int:
        self.event.set()
        return super().__hash__()


def test_a_failure_is_shared_and_not_kept():
    vendor, asked = Vendor(), threading.Event()

    def fail() -> Credentials:
        asked.set()
        assert Seen.event.wait(10)
        raise ServiceUnavailableError("STS is out of reach")

    def never() -> Credentials:
        raise AssertionError("it was asked for a second time")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(vendor.cache.get, KEY, fail)
        assert asked.wait(10)
        second = pool.submit(vendor.cache.get, (Seen(KEY[0]), KEY[1]), never)
        for caller in (first, second):
            with pytest.raises(ServiceUnavailableError, match="STS is out of reach"):
                caller.result()
    assert vendor.get() == "token-1"


def test_credentials_do_not_show_themselves():
    assert "hush" not in repr(Credentials({"aws_secret_access_key": "hush"}, 1))


@pytest.mark.parametrize(
    ("location", "parts"),
    [
        ("s3://lake/root/orders.lance", ("lake", "root/orders.lance")),
        ("gs://lake/a#b?c%20d/", ("lake", "a#b?c%20d")),
        ("az://lake@account.blob.core.windows.net/t.lance", ("lake@account.blob.core.windows.net", "t.lance")),
    ],
)
def test_a_location_is_taken_as_it_is(location: str, parts: tuple[str, str]):
    assert split_location(location) == parts

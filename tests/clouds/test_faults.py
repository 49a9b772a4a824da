"""Writes on a bad network: nothing is lost or done twice, and each ends in success or in one clear error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from lance_namespace import (
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    ThrottlingError,
)

from tests.clouds.writes import WRITES, Catalog, Write
from tests.emulators.clouds import Cloud
from tests.emulators.fixtures import CLOUDS
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, Proxy, proxy_to

CLEAR = (ServiceUnavailableError, ThrottlingError)
DONE = (NamespaceAlreadyExistsError, NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError)
PASSING = (Fault.DROP, Fault.LOSE, Fault.LIE, Fault.TRUNCATE, Fault.DELAY, Fault.ERROR, Fault.BUSY, Fault.THROTTLE)
WORST = (Fault.LOSE, Fault.TRUNCATE)
HASTY = {"timeout": "300ms", "read_timeout": "300ms", "client_max_retries": "0", "lance_aimd_max_retries": "0"}


def fault_name(fault: Fault) -> str:
    return fault.name


def writes(request: Request) -> bool:
    return request.method in {"PUT", "POST", "DELETE"}


def every(number: int) -> Callable[[Request], bool]:
    """Every so many requests, whatever they are."""
    counter = itertools.count(1)
    return lambda _: next(counter) % number == 0


@contextmanager
def catalog_behind(cloud: Cloud, proxy: Proxy) -> Iterator[Catalog]:
    """A new catalog whose client goes through the proxy."""
    root = cloud.new_root()
    with cloud.behind(proxy.endpoint).connect(root) as client:
        yield Catalog(cloud, root, client)


def attempt(write: Write, catalog: Catalog) -> LanceNamespaceError | None:
    """Do it; return the error, if it is a clear one."""
    try:
        write.act(catalog)
    except CLEAR as error:
        return error
    return None


def repeat(write: Write, catalog: Catalog) -> bool:
    """Do it again on a good network, if one may; that it was done already is a fine answer."""
    if write.can_repeat:
        with suppress(*DONE):
            write.act(catalog)
    return write.can_repeat


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.name)
@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.LIE], ids=fault_name)
def test_one_fault_at_any_write_does_no_harm(s3_cloud: Cloud, fault: Fault, write: Write):
    """An answer that is lost, or wrong, after each single request that changes something."""
    with proxy_to(s3_cloud.endpoint) as proxy:
        for position in itertools.count():
            with catalog_behind(s3_cloud, proxy) as catalog:
                write.prepare(catalog)
                with proxy.injecting(fault, writes, skip=position) as rule:
                    assert attempt(write, catalog) is None
                if not rule.met:
                    break
                assert catalog.state() == write.after, f"after {fault.name} at write {position}"
    assert position, "it writes nothing"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(pytest.param("s3", fault, id=f"s3-{fault.name}") for fault in PASSING),
        *(pytest.param(name, fault, id=f"{name}-{fault.name}") for name in CLOUDS[1:] for fault in WORST),
    ],
)
def test_faults_now_and_then(name: str, fault: Fault, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    with proxy_to(cloud.endpoint) as proxy:
        for write in WRITES:
            with catalog_behind(cloud, proxy) as catalog:
                write.prepare(catalog)
                assert catalog.state() == write.before
                with proxy.injecting(fault, every(4), times=None):
                    error = attempt(write, catalog)
                if error is not None:
                    assert catalog.state() in [write.before, write.halfway, write.after], write.name
                if error is None or repeat(write, catalog):
                    assert catalog.state() == write.after, write.name


def test_to_be_asked_to_slow_down_is_throttling(s3_cloud: Cloud):
    """The status alone does not say so; S3 writes it into the answer."""
    with proxy_to(s3_cloud.endpoint) as proxy, catalog_behind(s3_cloud, proxy) as catalog:
        catalog.client.create_namespace("a")
        with proxy.injecting(Fault.SLOW_DOWN, writes, times=None), pytest.raises(ThrottlingError):
            catalog.client.create_namespace("b")
        assert catalog.state() == {"namespaces": ["a"], "tables": {}}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, id=f"{name}-{fault.name}")
        for name in CLOUDS
        for fault in (Fault.DROP, Fault.ERROR, Fault.BUSY, Fault.HANG, Fault.THROTTLE)
        if (name, fault) != ("oss", Fault.HANG)  # For OSS, pylance cannot be told to wait for less than half a minute.
    ],
)
def test_a_store_that_stays_away_is_one_clear_error(name: str, fault: Fault, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    options = {} if name == "oss" else HASTY
    error = ThrottlingError if fault is Fault.THROTTLE else ServiceUnavailableError
    with proxy_to(cloud.endpoint) as proxy, catalog_behind(cloud, proxy) as catalog:
        catalog.client.create_namespace("a")
        before = catalog.state()
        with (
            cloud.behind(proxy.endpoint).with_options(**options).connect(catalog.root) as hasty,
            proxy.injecting(fault, times=None),
            pytest.raises(error) as caught,
        ):
            hasty.create_namespace("b")
        assert proxy.endpoint in str(caught.value)
        assert cloud.secret not in str(caught.value)
        assert catalog.state() == before
        catalog.client.create_namespace("b")

"""Writes on a bad network: nothing is lost or done twice, and each ends in success or in one clear error."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from contextlib import suppress

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

from lancespace.authoring import translated
from tests.clouds.writes import WRITES, State, connected, prepare, state
from tests.emulators.clouds import Cloud
from tests.emulators.fixtures import CLOUDS
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, Proxy, proxy_to

CLEAR = (ServiceUnavailableError, ThrottlingError)
DONE = (NamespaceAlreadyExistsError, NamespaceNotFoundError, TableAlreadyExistsError, TableNotFoundError)
OWN = ("create_namespace", "declare_table", "create_table", "insert_into_table", "create_table_version", "drop_table")
"""What is committed by requests of our own, beside Lance's."""
HASTY = {"timeout": "300ms", "read_timeout": "300ms", "client_max_retries": "0", "lance_aimd_max_retries": "0"}


def fault_name(fault: Fault) -> str:
    return fault.name


def writes(request: Request) -> bool:
    return request.method in {"PUT", "POST", "DELETE"}


def commits(request: Request) -> bool:
    """What makes a version, a tag or a branch; or takes one away, which S3 is told in the body."""
    place = request.target.encode() + (request.body if request.method == "POST" else b"")
    return writes(request) and (b"/_versions/" in place or b"/_refs/" in place)


def every(number: int) -> Callable[[Request], bool]:
    """Every so many requests, whatever they are."""
    counter = itertools.count(1)
    return lambda _: next(counter) % number == 0


@functools.cache
def on_a_good_network(cloud: Cloud, operation: str) -> tuple[State, State]:
    """What is in the catalog before the example of an operation, and after it."""
    root = cloud.new_root()
    with connected(cloud, root) as client:
        fields = prepare(client, operation)
        before = state(cloud, root)
        client.example(operation, **fields)
        return before, state(cloud, root)


def happens_in_spite_of(
    fault: Fault, matches: Callable[[Request], bool], skip: int, cloud: Cloud, proxy: Proxy, operation: str
) -> bool:
    """Have one request meet a fault; whether any did. The operation succeeds, and is done once."""
    root = cloud.new_root()
    with connected(cloud.behind(proxy.endpoint), root) as client:
        fields = prepare(client, operation)
        with proxy.injecting(fault, matches, skip=skip) as rule:
            client.example(operation, **fields)
    if rule.met:
        assert state(cloud, root) == on_a_good_network(cloud, operation)[1], f"{fault.name} at {skip}"
    return bool(rule.met)


@pytest.mark.parametrize("operation", OWN)
@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.LIE], ids=fault_name)
def test_one_fault_at_any_write_does_no_harm(s3_cloud: Cloud, fault: Fault, operation: str):
    """An answer that is lost, or wrong, after each single request that changes something."""
    with proxy_to(s3_cloud.endpoint) as proxy:
        harmless = functools.partial(happens_in_spite_of, fault, writes)
        tried = itertools.takewhile(lambda skip: harmless(skip, s3_cloud, proxy, operation), itertools.count())
        assert list(tried), "it writes nothing"


@pytest.mark.parametrize("operation", [operation for operation in WRITES if operation not in OWN])
def test_a_commit_whose_answer_is_lost_is_known(s3_cloud: Cloud, operation: str):
    with proxy_to(s3_cloud.endpoint) as proxy:
        assert happens_in_spite_of(Fault.LOSE, commits, 0, s3_cloud, proxy, operation)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param("s3", Fault.DELAY, id="s3-DELAY"),  # The conformance suite meets the others there.
        *(
            pytest.param(name, fault, id=f"{name}-{fault.name}")
            for name in CLOUDS[1:]
            for fault in (Fault.LOSE, Fault.TRUNCATE)
        ),
    ],
)
def test_faults_now_and_then(name: str, fault: Fault, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    with proxy_to(cloud.endpoint) as proxy:
        for operation in OWN:
            before, after = on_a_good_network(cloud, operation)
            halfway = on_a_good_network(cloud, "declare_table")[1] if operation == "create_table" else before
            root = cloud.new_root()
            with connected(cloud.behind(proxy.endpoint), root) as client:
                fields = prepare(client, operation)
                error: LanceNamespaceError | None = None
                with proxy.injecting(fault, every(4), times=None):
                    try:
                        client.example(operation, **fields)
                    except CLEAR as raised:
                        error = raised
                found = state(cloud, root)
                assert found in ([after] if error is None else [before, halfway, after]), operation
                if found != after:
                    with suppress(*DONE):
                        client.example(operation, **fields)
                    assert state(cloud, root) == after, operation


def test_to_be_asked_to_slow_down_is_throttling(s3_cloud: Cloud):
    """The status alone does not say so; S3 writes it into the answer."""
    root = s3_cloud.new_root()
    with proxy_to(s3_cloud.endpoint) as proxy, s3_cloud.behind(proxy.endpoint).connect(root) as namespace:
        namespace.create_namespace("a")
        before = state(s3_cloud, root)
        with proxy.injecting(Fault.SLOW_DOWN, writes, times=None), pytest.raises(ThrottlingError):
            namespace.create_namespace("b")
        assert state(s3_cloud, root) == before


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param("s3", Fault.ERROR, id="s3-ERROR"),  # To the others a 500 is what a 503 is.
        *(
            pytest.param(name, fault, id=f"{name}-{fault.name}")
            for name in CLOUDS
            for fault in (Fault.DROP, Fault.BUSY, Fault.HANG, Fault.THROTTLE)
            if (name, fault) != ("oss", Fault.HANG)  # See the next test.
        ),
    ],
)
def test_a_store_that_stays_away_is_one_clear_error(name: str, fault: Fault, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    options = {} if name == "oss" else HASTY
    error = ThrottlingError if fault is Fault.THROTTLE else ServiceUnavailableError
    root = cloud.new_root()
    with proxy_to(cloud.endpoint) as proxy, cloud.connect(root) as namespace:
        namespace.create_namespace("a")
        before = state(cloud, root)
        with (
            cloud.behind(proxy.endpoint).with_options(**options).connect(root) as hasty,
            proxy.injecting(fault, times=None),
            pytest.raises(error) as caught,
        ):
            hasty.create_namespace("b")
        assert proxy.endpoint in str(caught.value)
        assert cloud.secret not in str(caught.value)
        assert state(cloud, root) == before
        namespace.create_namespace("b")


def test_on_oss_our_own_requests_do_not_wait_for_ever(oss_cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    """pylance's do; it cannot be told a timeout for OSS."""
    monkeypatch.setattr("lancespace_dir_oss.filesystem._PATIENCE", 0.1)
    with proxy_to(oss_cloud.endpoint) as proxy:
        storage = oss_cloud.behind(proxy.endpoint).storage(oss_cloud.new_root())
        with (
            proxy.injecting(Fault.HANG, times=None),
            pytest.raises(ServiceUnavailableError) as caught,
            translated("write"),
        ):
            storage.put_if_absent(f"{storage.path()}/mark", b"")
        assert oss_cloud.secret not in str(caught.value)
        assert not storage.exists(f"{storage.path()}/mark")

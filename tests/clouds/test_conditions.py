"""A store that cannot write on a condition: no catalog begins there, and the error says why."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakSet

import pytest
from lance_namespace import UnsupportedOperationError

from lancespace._storage import probes
from tests.clouds.unconditional import without_conditions
from tests.emulators import s3
from tests.emulators.clouds import Cloud
from tests.emulators.proxy import proxy_to

MODES = {"compatibility": {}, "v2": {"dir_listing_enabled": "false"}, "v1": {"manifest_enabled": "false"}}


@pytest.fixture(autouse=True)
def nobody_asked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else tests in this process: an address may have been another store's."""
    monkeypatch.setattr(probes, "_TRIED", WeakSet())


@pytest.fixture(params=["s3", "gcs", "oss"])
def name(request: pytest.FixtureRequest) -> str:
    """In azurite the condition cannot be switched off."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def unknown(name: str, request: pytest.FixtureRequest) -> Iterator[Cloud]:
    """A cloud at an address where this process has not been yet: it asks each store once."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    with proxy_to(cloud.endpoint) as proxy:
        yield cloud.behind(proxy.endpoint)


def stored(cloud: Cloud, root: str) -> list[str]:
    storage = cloud.storage(root)
    return list(storage.filesystem.find(storage.path()))


@pytest.mark.parametrize("mode", MODES)
def test_a_store_that_takes_every_write_is_refused(name: str, unknown: Cloud, mode: str, request):
    root = unknown.new_root()
    with unknown.connect(root, **MODES[mode]) as namespace:
        with (
            without_conditions(name, request),
            pytest.raises(
                UnsupportedOperationError, match="overwrote a file that it was told not to overwrite"
            ) as told,
        ):
            namespace.declare_table("t")
        assert root in str(told.value)
        assert unknown.secret not in str(told.value)
        assert stored(unknown, root) == []
        namespace.declare_table("t")
        assert namespace.list_tables().tables == ["t"]


def test_a_store_that_knows_no_conditions_is_refused(s3_cloud: Cloud):
    root = s3_cloud.new_root()
    with proxy_to(s3_cloud.endpoint) as proxy, s3_cloud.behind(proxy.endpoint).connect(root) as namespace:
        with s3.refusing_conditions(), pytest.raises(UnsupportedOperationError, match="not implemented"):
            namespace.create_namespace("a")
        assert stored(s3_cloud, root) == []


def test_a_store_is_asked_once(s3_cloud: Cloud):
    with proxy_to(s3_cloud.endpoint) as proxy:
        behind = s3_cloud.behind(proxy.endpoint)
        asked = []
        for _ in range(2):
            with behind.connect(behind.new_root()) as namespace:
                proxy.heal()
                namespace.create_namespace("a")
                asked.append(sum("/.put-" in request.target for request in proxy.requests))
    assert asked[0] > 0
    assert asked[1] == 0

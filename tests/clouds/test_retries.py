"""A store that is busy for a moment, or whose answer breaks off, is asked again, by both clients."""

from __future__ import annotations

from collections.abc import Callable

import lance
import pytest

from lancespace_testing.samples import COUNT, sample
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, proxy_to


def test_a_write_is_tried_again(cloud: Cloud):
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(cloud.new_root())
        path = f"{storage.path()}/mark"
        with proxy.injecting(Fault.BUSY, times=2) as rule:
            storage.put_if_absent(path, b"mine")
        assert rule.met == 2
        assert storage.filesystem.cat_file(path) == b"mine"


@pytest.mark.parametrize("name", ["s3", "gcs", "azure"])
def test_pylance_tries_again(name: str, request: pytest.FixtureRequest):
    """For OSS it does not, as a rule; the docs say so."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(cloud.new_root())
        with proxy.injecting(Fault.BUSY, times=2) as rule:
            written = lance.write_dataset(sample(), storage.uri("t.lance"), storage_options=storage.options)
        assert rule.met == 2
        assert written.count_rows() == COUNT


@pytest.mark.parametrize("fault", [Fault.TRUNCATE, Fault.THROTTLE], ids=lambda fault: fault.name)
def test_a_read_is_tried_again(cloud: Cloud, fault: Fault):
    if (cloud.scheme, fault) == ("az", Fault.THROTTLE):
        pytest.skip("Azure's SDK takes a 429 for final; the docs say so")
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(cloud.new_root())
        filesystem, path = storage.filesystem, f"{storage.path()}/mark"
        filesystem.pipe_file(path, b"mine")
        reads: dict[Callable[[], object], object] = {
            lambda: filesystem.ls(storage.path(), detail=False): [path],
            lambda: filesystem.exists(path): True,
            lambda: filesystem.cat_file(path): b"mine",
        }
        for read, expected in reads.items():
            filesystem.invalidate_cache()
            with proxy.injecting(fault) as rule:
                assert read() == expected
            assert rule.met == 1


def test_a_listing_that_pylance_gives_up_is_asked_for_again(cloud: Cloud):
    def lists(request: Request) -> bool:
        return request.method == "GET" and "prefix=" in request.target

    with proxy_to(cloud.endpoint) as proxy, cloud.behind(proxy.endpoint).connect(cloud.new_root()) as namespace:
        namespace.create_table("t", sample())
        for operation, subject in (("declare_table", "other"), ("list_table_tags", "t"), ("list_table_branches", "t")):
            with proxy.injecting(Fault.TRUNCATE, lists) as rule:
                getattr(namespace, operation)(subject)
            assert rule.met == 1

"""A store that is busy for a moment is asked again, by both clients."""

from __future__ import annotations

import lance
import pytest

from lancespace.testing.samples import COUNT, sample
from tests.emulators.clouds import Cloud
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

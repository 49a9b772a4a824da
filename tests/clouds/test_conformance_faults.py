"""The writes of the conformance suite on a network where now and then each kind of fault happens to one.

All of them pass, so nothing was lost and nothing done twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from lancespace.testing.groups.commits import CommitTests
from lancespace.testing.groups.creation import CreationTests
from lancespace.testing.groups.data import DataTests
from lancespace.testing.groups.namespaces import NamespaceTests
from lancespace.testing.groups.renaming import RenamingTests
from tests.clouds.conformance import InCloud
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, Proxy, proxy_to

FAULTS = (Fault.LOSE, Fault.DROP, Fault.LIE, Fault.TRUNCATE, Fault.ERROR, Fault.BUSY, Fault.THROTTLE)
EVERY = 5


@pytest.fixture(scope="module")
def proxy(s3_cloud: Cloud) -> Iterator[Proxy]:
    """One for all tests: the faults go on where the test before stopped."""
    counter = itertools.count(1)

    def every_few_writes(request: Request) -> bool:
        return request.method in {"PUT", "POST", "DELETE"} and next(counter) % EVERY == 0

    with proxy_to(s3_cloud.endpoint) as made, made.injecting(itertools.cycle(FAULTS), every_few_writes, times=None):
        yield made


class TestUnderFaults(InCloud, CommitTests, CreationTests, DataTests, NamespaceTests, RenamingTests):
    @pytest.fixture
    def cloud(self, s3_cloud: Cloud, proxy: Proxy) -> Cloud:
        return s3_cloud.behind(proxy.endpoint)

"""The conformance suite on a network where now and then each kind of fault happens to a request.

Every call ends in success, or in one clear error. After an error the same call is sent again on a good network, and
the case goes on: it passes, so the call that failed had done nothing, or nothing that a repeat does twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from lance_namespace import LanceNamespace, ServiceUnavailableError, ThrottlingError
from pydantic import BaseModel

from lancespace_dir import checks
from lancespace_testing.groups.commits import CommitTests
from lancespace_testing.groups.creation import CreationTests
from lancespace_testing.groups.data import DataTests
from lancespace_testing.groups.jobs import JobTests
from lancespace_testing.groups.namespaces import NamespaceTests
from lancespace_testing.groups.races import RaceTests
from lancespace_testing.groups.schema import SchemaTests
from lancespace_testing.groups.tables import TableTests
from lancespace_testing.groups.versions import VersionTests
from tests.clouds.conformance import InCloud
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, Proxy, proxy_to

CLEAR = (ServiceUnavailableError, ThrottlingError)
FAULTS = (Fault.LOSE, Fault.DROP, Fault.LIE, Fault.TRUNCATE, Fault.ERROR, Fault.BUSY, Fault.THROTTLE)
WRITES, LISTINGS, READS = 11, 29, 97
"""Every so many of them meet one. None has a divisor in common with the number of faults: all kinds come by."""

HARMLESS = {checks.ORPHAN_TABLE, checks.ORPHAN_DIRECTORY, checks.STALE_RESERVATION, checks.LEFTOVER}
"""What a writer that failed may leave, and no reader sees."""


@pytest.fixture(scope="module")
def proxy(s3_cloud: Cloud) -> Iterator[Proxy]:
    """One for all tests: the faults go on where the test before stopped."""
    with proxy_to(s3_cloud.endpoint) as made:
        yield made


class UnderFaults(InCloud):
    """The catalog, and a client on a bad network."""

    only_writes = False

    @pytest.fixture
    def cloud(self, s3_cloud: Cloud, proxy: Proxy) -> Cloud:
        return s3_cloud.behind(proxy.endpoint)

    @pytest.fixture(autouse=True)
    def _faults(self, s3_cloud: Cloud, proxy: Proxy, _use: None) -> Iterator[None]:
        self._failed: list[str] = []
        with s3_cloud.connect(self._root) as self._safe:
            with proxy.injecting(_FAULTS, self._meets_one, times=None):
                yield
            if self._failed:
                found = {finding.kind for finding in checks.check(self._safe, older_than=timedelta())}
                assert found <= HARMLESS, f"after {self._failed} failed"

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        try:
            return super().call(namespace, operation, request, data)
        except CLEAR:
            self._failed.append(operation)
        return super().call(self._safe, operation, request, data)

    def _meets_one(self, request: Request) -> bool:
        if request.method in {"PUT", "POST", "DELETE"}:
            return next(_WRITTEN) % WRITES == 0
        if self.only_writes:
            return False
        return next(_LISTED) % LISTINGS == 0 if "prefix=" in request.target else next(_READ) % READS == 0


_WRITTEN, _LISTED, _READ = itertools.count(1), itertools.count(1), itertools.count(1)
_FAULTS = itertools.cycle(FAULTS)


class TestRequests(
    UnderFaults,
    CommitTests,
    CreationTests,
    DataTests,
    NamespaceTests,
    RaceTests,
    SchemaTests,
    TableTests,
    VersionTests,
):
    """Faults of reads and writes alike."""


class TestJobs(UnderFaults, JobTests):
    """A job whose reads fail is one that failed, which a case of the suite does not expect."""

    only_writes = True

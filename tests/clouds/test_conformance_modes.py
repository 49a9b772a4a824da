"""The two other modes of the directory catalog, in one cloud: what differs between clouds does not differ by mode.

A mode says how the catalog is kept, so the tests of what is in a table are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from lancespace_testing import Feature
from lancespace_testing.groups.commits import CommitTests
from lancespace_testing.groups.concurrency import ConcurrencyTests
from lancespace_testing.groups.creation import CreationTests
from lancespace_testing.groups.namespaces import NamespaceTests
from lancespace_testing.groups.pagination import PaginationTests
from lancespace_testing.groups.races import RaceTests
from lancespace_testing.groups.safety import SafetyTests
from lancespace_testing.groups.tables import TableTests
from tests.clouds.conformance import InCloud
from tests.emulators.clouds import Cloud


class _Catalog(
    InCloud,
    CommitTests,
    ConcurrencyTests,
    CreationTests,
    NamespaceTests,
    PaginationTests,
    RaceTests,
    SafetyTests,
    TableTests,
):
    @pytest.fixture
    def cloud(self, gcs_cloud: Cloud) -> Cloud:
        return gcs_cloud


class TestV2(_Catalog):
    properties: ClassVar[Mapping[str, str]] = {"dir_listing_enabled": "false"}


class TestV1(_Catalog):
    properties: ClassVar[Mapping[str, str]] = {"manifest_enabled": "false"}
    features = frozenset({Feature.REACHABLE_TABLES})

    def place_table(self, workdir: Path, name: str) -> None:  # type: ignore[override]
        """A V1 table has no other name than its directory's, so a stray one cannot be registered under another."""

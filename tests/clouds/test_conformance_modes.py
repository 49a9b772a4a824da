"""The two other modes of the directory catalog, in one cloud: what differs between clouds does not differ by mode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from lancespace.testing import Feature
from tests.clouds.conformance import CloudConformance
from tests.emulators.clouds import Cloud


class _Gcs(CloudConformance):
    @pytest.fixture
    def cloud(self, gcs_cloud: Cloud) -> Cloud:
        return gcs_cloud


class TestV2(_Gcs):
    properties: ClassVar[Mapping[str, str]] = {"dir_listing_enabled": "false"}


class TestV1(_Gcs):
    properties: ClassVar[Mapping[str, str]] = {"manifest_enabled": "false"}
    features = frozenset[Feature]()

    def place_table(self, workdir: Path, name: str) -> None:  # type: ignore[override]
        """A V1 table has no other name than its directory's, so a stray one cannot be registered under another."""

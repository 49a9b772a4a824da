"""Versions that are committed through the catalog, with managed tables, in each cloud: all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from lancespace_testing import Feature
from lancespace_testing.groups.commits import CommitTests
from tests.clouds.conformance import InCloud


class TestManaged(InCloud, CommitTests):
    properties: ClassVar[Mapping[str, str]] = {"table_version_management": "true"}
    features = frozenset(Feature)

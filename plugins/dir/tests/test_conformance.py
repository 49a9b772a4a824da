"""The conformance suite in the modes of the directory catalog, and with managed tables."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from lance_namespace import LanceNamespace

import lancespace
from lancespace_testing import Conformance, Feature

MODES = {
    "compatibility": {},
    "v2": {"dir_listing_enabled": "false"},
    "v1": {"manifest_enabled": "false"},
    "managed": {"table_version_management": "true"},
}


class _Directory(Conformance):
    mode: ClassVar[str] = "compatibility"
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    def connect(self, workdir: Path) -> lancespace.Namespace:
        return lancespace.connect("dir", {"root": str(workdir), **MODES[self.mode]})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002
        return self.connect(workdir)


class TestCompatibility(_Directory):
    mode = "compatibility"


class TestV2(_Directory):
    mode = "v2"


class TestManaged(_Directory):
    mode = "managed"
    features = frozenset(Feature)


class TestV1(_Directory):
    mode = "v1"
    features = frozenset({Feature.REACHABLE_TABLES})

    def place_table(self, workdir: Path, name: str) -> None:
        """A V1 table has no other name than its directory's, so a stray one cannot be registered under another."""

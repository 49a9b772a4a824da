"""The whole conformance suite of lancespace; this class is all that a backend's author writes for it."""

from __future__ import annotations

from pathlib import Path

from lance_namespace import LanceNamespace

from lancespace import Namespace, connect
from lancespace_testing import Conformance, Feature


class TestSqlite(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}  # The versions of tables are in storage, not in SQLite.

    def connect(self, workdir: Path) -> Namespace:
        return connect("sqlite", {"database": str(workdir / "catalog.sqlite"), "root": str(workdir / "tables")})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> Namespace:  # noqa: ARG002 - two are alike
        return self.connect(workdir)

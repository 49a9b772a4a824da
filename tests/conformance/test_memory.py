"""The reference backend passes the whole suite, without debts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import lancespace
from lancespace.testing import Conformance, Feature


class TestMemory(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    @pytest.fixture(autouse=True)
    def tables_in_workdir(self, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The backend keeps its tables in the temporary directory; the suite looks at the working directory."""
        monkeypatch.setattr(tempfile, "tempdir", str(workdir))

    def connect(self, workdir: Path) -> lancespace.Namespace:
        return lancespace.connect("memory", {})

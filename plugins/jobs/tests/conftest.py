from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lancespace import Namespace, connect
from lancespace_jobs import _local as local_engine


@pytest.fixture
def ns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespace]:
    """A catalog in a directory, with a namespace ``sales`` in it."""
    monkeypatch.setattr(local_engine, "_TICK", 0.02)
    with connect("dir", {"root": str(tmp_path / "lake")}) as namespace:
        namespace.create_namespace("sales")
        yield namespace

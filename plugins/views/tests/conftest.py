"""A catalog with orders and people, in memory and in a directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lancespace import Namespace, connect
from plugins.views.tests.support import orders

BACKENDS = ["memory", "dir"]


def filled(backend: str, root: Path, **properties: str) -> Namespace:
    namespace = connect(backend, {**({"root": str(root)} if backend == "dir" else {}), **properties})
    namespace.create_namespace("sales")
    namespace.create_table("sales.orders", orders(1, 2, 3))
    namespace.create_table("people", pa.table({"id": [0, 1, 2], "name": ["Ada", "Grace", "Edsger"]}))
    return namespace


@pytest.fixture(params=BACKENDS)
def namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    with filled(request.param, tmp_path / "lake") as namespace:
        yield namespace


@pytest.fixture(params=BACKENDS)
def trusting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """A connection that runs functions."""
    with filled(request.param, tmp_path / "lake", **{"udf.enabled": "true"}) as namespace:
        yield namespace

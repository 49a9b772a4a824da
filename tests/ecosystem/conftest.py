"""A small catalog, for packages that know nothing of lancespace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lancespace import Namespace, connect
from plugins.server.tests.hosting import Running, hosted

ORDERS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "item": ["lamp", "desk", "chair", "lamp"],
        "vector": pa.array([[1, 0], [0, 1], [0.7, 0.7], [0.9, 0]], pa.list_(pa.float32(), 2)),
    }
)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture(params=[{}, {"table_version_management": "true"}], ids=["plain", "managed"])
def namespace(request: pytest.FixtureRequest, root: str) -> Iterator[Namespace]:
    """With the versions of tables in storage, and in the catalog."""
    with connect("dir", {"root": root, **request.param}) as connected:
        connected.create_namespace("sales")
        connected.create_table("sales.orders", ORDERS)
        yield connected


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of catalogs."""
    with hosted(tmp_path_factory.mktemp("host")) as server:
        yield server

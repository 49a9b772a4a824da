"""A catalog for each file of tests, and a terminal that works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lancespace import connect
from plugins.cli.tests.terminals import Driver, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lancespace import Namespace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of a file of tests run; the catalog is in it."""
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def ns(folder: Path) -> Namespace:
    """The catalog: `sales.orders` with 20 rows in two versions, and `docs` with vectors."""
    namespace = connect("dir", {"root": str(folder / "lake")})
    namespace.create_namespace("sales", properties={"owner": "ada"})
    namespace.create_table("sales.orders", orders(0, 10))
    namespace.insert_into_table("sales.orders", orders(10, 20))
    namespace.create_table("docs", documents())
    return namespace


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """The process that runs the commands of all tests."""
    started = Driver(tmp_path_factory.mktemp("driver"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def terminal(driver: Driver, folder: Path, ns: Namespace) -> Terminal:  # noqa: ARG001 - it is to be there
    """A terminal whose commands work on the catalog."""
    return Terminal(driver, folder, LANCESPACE_ROOT=str(folder / "lake"))


def orders(start: int, end: int) -> pa.Table:
    items = ("lamp", "desk", "sofa")
    rows = range(start, end)
    return pa.table({"id": rows, "item": [items[n % 3] for n in rows], "price": [n * 1.5 for n in rows]})


def documents() -> pa.Table:
    vectors = [[float(n + i) for i in range(16)] for n in range(8)]
    return pa.table(
        {
            "id": range(8),
            "vector": pa.array(vectors, pa.list_(pa.float32(), 16)),
            "body": [f"page {n} about lance " + "and tables " * 20 for n in range(8)],
        }
    )

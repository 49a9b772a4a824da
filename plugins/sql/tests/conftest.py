"""The catalog of the tests, in memory and in a directory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lancespace import Namespace, connect
from plugins.sql.tests.support import fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BACKENDS = ["memory", "dir"]


@contextmanager
def filled(backend: str, root: Path) -> Iterator[Namespace]:
    with connect(backend, {"root": str(root)} if backend == "dir" else {}) as namespace:
        fill(namespace)
        yield namespace


@pytest.fixture(params=BACKENDS)
def namespace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """A catalog of the test's own."""
    with filled(request.param, tmp_path / "lake") as namespace:
        yield namespace


@pytest.fixture(scope="module", params=BACKENDS)
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """A catalog that the tests of a module share; what one adds must not matter to the others."""
    with filled(request.param, tmp_path_factory.mktemp("lake")) as namespace:
        yield namespace

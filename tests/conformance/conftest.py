"""Fixtures shared by the tests of conformance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plugins.server.tests.hosting import Running, hosted


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server process; every test has a catalog of its own in it."""
    with hosted(tmp_path_factory.mktemp("host")) as server:
        yield server

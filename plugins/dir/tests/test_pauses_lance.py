"""A writer that is paused at any point, while Lance's own writers and clean-up go on.

Lance's clean-up deletes versions in no order, and spares what is tagged: it frees the next number, too, and leaves the
version in place that a paused writer has seen.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import CreateNamespaceRequest

from lancespace_dir.manifest.reader import Moment
from lancespace_dir.manifest.schema import DIRECTORY
from plugins.dir.tests.pausing import Pauses, pauses
from plugins.dir.tests.test_pauses import (
    CREATE,
    DROP,
    OTHERS,
    Case,
    Connect,
    _few_versions,
    clean,
    commits_of_others,
    local,
    sweep,
)
from tests.emulators.clouds import Cloud

__all__ = ["_few_versions", "pauses"]

LONG = 3600.0
"""Seconds of a pause: Lance's clean-up is to keep the versions of so long."""


def rust(connect: Connect) -> None:
    """Six commits by the Rust implementation, and a clean-up of ours."""
    with connect() as namespace:
        rival = DirectoryNamespace(root=namespace.backend.storage.location)
    for _ in range(OTHERS):
        rival.create_namespace(CreateNamespaceRequest(id=[f"of_others_{uuid.uuid4().hex[:8]}"]))
    clean(connect)


@pytest.mark.parametrize("case", [CREATE, DROP], ids=str)
def test_beside_writers_of_the_rust_implementation(case: Case, tmp_path: Path, pauses: Pauses):
    moments, unknown = sweep(case, pauses, lambda: local(tmp_path), meanwhile=rust)

    assert moments > 20
    assert unknown < 16


@pytest.fixture
def slow_others(monkeypatch: pytest.MonkeyPatch) -> Callable[[Connect], None]:
    """Commits of others and Lance's clean-up, which takes an hour by the clock of the machine."""
    passed, now = [0.0], Moment.now

    def meanwhile(connect: Connect) -> None:
        with connect() as namespace:
            storage = namespace.backend.storage
            uri, options = storage.uri(DIRECTORY), storage.options
            table = lance.dataset(uri, storage_options=options)
            table.tags.create("kept", table.version)
            commits_of_others(connect)
            table = lance.dataset(uri, storage_options=options)
            table.cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)
        passed[0] += LONG

    monkeypatch.setattr(Moment, "now", lambda: Moment(now().steady, now().wall + passed[0]))
    return meanwhile


@pytest.mark.parametrize("case", [CREATE, DROP], ids=str)
def test_beside_the_clean_up_of_lance(
    case: Case, tmp_path: Path, pauses: Pauses, slow_others: Callable[[Connect], None]
):
    moments, unknown = sweep(case, pauses, lambda: local(tmp_path), meanwhile=slow_others)

    assert moments > 20
    assert 0 < unknown < 30


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("case", [CREATE, DROP], ids=str)
def test_beside_the_clean_up_of_lance_in_a_store(
    case: Case, cloud: Cloud, pauses: Pauses, slow_others: Callable[[Connect], None]
):
    def connected() -> Connect:
        root = cloud.new_root()
        return lambda: cloud.connect(root)

    moments, unknown = sweep(case, pauses, connected, meanwhile=slow_others)

    assert moments > 10
    assert 0 < unknown < 16

"""Commits that go right on top of a version, in every store: beside a rival, and on a bad network."""

from __future__ import annotations

from contextlib import suppress
from threading import Barrier, Thread

import lance
import pyarrow as pa
import pytest
from lance.dataset import Transaction
from lance.fragment import write_fragments
from lance_namespace import ConcurrentModificationError, LanceNamespaceError

from lancespace import Namespace
from lancespace_jobs import TableSpec, commit_next
from plugins.jobs.tests.pausing import Meanwhile, commit, sweep, tag_commit_and_clean_up
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, proxy_to


def rows(number: int) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int64())})


def append(namespace: Namespace, base: int, number: int) -> int:
    handle = TableSpec.of(namespace, "t")
    fragments = write_fragments(rows(number), handle.open())
    return commit_next(handle, Transaction(base, lance.LanceOperation.Append(fragments)))


def ids(namespace: Namespace) -> list[int]:
    found: list[int] = namespace.table("t").to_arrow()["id"].to_pylist()
    return sorted(found)


@pytest.mark.parametrize("managed", ["false", "true"], ids=["storage", "catalog"])
def test_one_of_many_makes_the_next_version(cloud: Cloud, managed: str) -> None:
    root = cloud.new_root()
    with cloud.connect(root, table_version_management=managed) as namespace:
        namespace.create_table("t", rows(0))
        made: list[int] = []
        barrier = Barrier(4)

        def rival(number: int) -> None:
            barrier.wait()
            with suppress(ConcurrentModificationError):
                append(namespace, 1, number)
                made.append(number)

        threads = [Thread(target=rival, args=(number,)) for number in (1, 2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1
        assert ids(namespace) == [0, *made]
        assert append(namespace, 2, 9) == 3
        assert ids(namespace) == sorted([0, *made, 9])


def is_of_versions(request: Request) -> bool:
    return request.method in {"PUT", "POST"} and "_versions" in request.target + request.body.decode(errors="replace")


def test_an_answer_is_lost_and_what_is_said_is_true(cloud: Cloud) -> None:
    """A conflict means that nothing has happened: whoever is told so takes the files away."""
    root = cloud.new_root()
    with cloud.connect(root) as namespace:
        namespace.create_table("t", rows(0))
    with proxy_to(cloud.endpoint) as proxy, cloud.behind(proxy.endpoint).connect(root) as namespace:
        TableSpec.of(namespace, "t").open()
        with proxy.injecting(Fault.LOSE, is_of_versions) as rule:
            is_done = is_committed(namespace)
        assert rule.met
    with cloud.connect(root) as namespace:
        assert ids(namespace) in {True: [[0, 1]], False: [[0]], None: [[0], [0, 1]]}[is_done]
        latest = namespace.table("t").dataset().version
        assert append(namespace, latest, 2) == latest + 1


def is_committed(namespace: Namespace) -> bool | None:
    try:
        append(namespace, 1, 1)
    except ConcurrentModificationError:
        return False
    except LanceNamespaceError:
        return None
    return True


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("meanwhile", [commit, tag_commit_and_clean_up])
def test_a_commit_that_is_paused_anywhere_says_the_truth(
    s3_cloud: Cloud, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = sweep(monkeypatch, lambda: s3_cloud.connect(s3_cloud.new_root()), meanwhile)
    assert said.count("version 2") > 2
    assert "InternalError" not in said or meanwhile is not commit

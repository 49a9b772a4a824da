"""A writer of a table's next version that is paused, while others commit and delete old versions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.dataset import Transaction
from lance.fragment import write_fragments
from lance_namespace import ConcurrentModificationError, InternalError

from lancespace import Namespace
from lancespace.authoring import Storage
from lancespace_jobs import TableSpec, commit_next
from lancespace_tables import ManifestDirectory

Meanwhile = Callable[[Namespace], None]
TABLE = "t"
_CALLS = ((Storage, "put_if_absent"), (ManifestDirectory, "list"), (ManifestDirectory, "delete_if_there"))


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def append(namespace: Namespace, base: int, *numbers: int) -> int:
    handle = TableSpec.of(namespace, TABLE)
    fragments = write_fragments(rows(*numbers), handle.open())
    return commit_next(handle, Transaction(base, lance.LanceOperation.Append(fragments)))


def ids(namespace: Namespace) -> list[int]:
    found: list[int] = namespace.table(TABLE).to_arrow()["id"].to_pylist()
    return sorted(found)


def commit(namespace: Namespace) -> None:
    """Three commits."""
    for number in (1, 2, 3):
        namespace.insert_into_table(TABLE, rows(number))


def commit_and_clean_up(namespace: Namespace) -> None:
    """Commits, then all old versions without a tag go."""
    commit(namespace)
    namespace.table(TABLE).dataset().cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)


def tag_commit_and_clean_up(namespace: Namespace) -> None:
    """The first version stays, although the second goes."""
    namespace.create_table_tag(TABLE, tag="kept", version=1)
    commit_and_clean_up(namespace)


def sweep(monkeypatch: pytest.MonkeyPatch, connected: Callable[[], Namespace], meanwhile: Meanwhile) -> list[str]:
    """Pause a commit before and after each of its calls, and look whether it says the truth: what it says each time."""
    said: list[str] = []
    for moment in count(1):
        with connected() as namespace, monkeypatch.context() as patch:
            namespace.create_table(TABLE, rows(0))
            ticks = _paused(patch, moment, functools.partial(meanwhile, namespace))
            try:
                said.append(f"version {append(namespace, 1, 9)}")
            except (ConcurrentModificationError, InternalError) as error:
                said.append(type(error).__name__)
            if next(ticks) <= moment:
                return said
            found = ids(namespace)
            assert set(found) - {9} == {0, 1, 2, 3}, (moment, said)
            assert 9 in found or said[-1] != "version 2", (moment, said)
            assert 9 not in found or said[-1] != "ConcurrentModificationError", (moment, said)
    raise AssertionError


def _paused(patch: pytest.MonkeyPatch, moment: int, meanwhile: Callable[[], object]) -> Iterator[int]:
    ticks = count(1)

    def tick() -> None:
        if next(ticks) == moment:
            meanwhile()

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def pausing(*arguments: Any, **options: Any) -> Any:
            tick()
            try:
                return call(*arguments, **options)
            finally:
                tick()

        return pausing

    for owner, name in _CALLS:
        patch.setattr(owner, name, around(getattr(owner, name)))
    return ticks

"""A process that is killed at any write to a managed table: the commit has happened or not, and readers mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pytest

import lancespace
from lancespace_testing.samples import stream
from plugins.dir.tests.crashing import crashes
from plugins.dir.tests.managing import bypass, connect, ids, numbers, staged_append, version_rows, versions, where
from plugins.dir.tests.test_crashes import put_back

NEW = stream(numbers(2))


def build(root: Path) -> lancespace.Namespace:
    namespace = connect(root)
    namespace.create_namespace("a")
    namespace.create_table("a.t", numbers(0))
    namespace.insert_into_table("a.t", numbers(1))
    return namespace


def check(root: Path, expected: list[list[int]]) -> list[int]:
    """What a new client sees, through the operations and through pylance; versions have no gaps."""
    namespace = connect(root)
    seen = ids(namespace, "a.t")
    assert seen in expected
    assert sorted(lance.dataset(**where(namespace, "a.t")).to_table()["id"].to_pylist()) == seen
    assert versions(namespace, "a.t") == list(range(1, len(version_rows(root)) + 1))
    namespace.close()
    return seen


CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any], list[int]]] = {
    "insert_into_table": (("a.t", NEW), {}, [0, 1, 2]),
    "delete_from_table": (("a.t",), {"predicate": "id = 0"}, [1]),
    "create_table": ((("a", "t"), NEW), {"mode": "Overwrite"}, [2]),
}


@pytest.mark.parametrize(
    ("operation", "with_bypass"),
    [("insert_into_table", True), ("delete_from_table", False), ("create_table", False)],
    ids=str,
)
def test_killed_at_every_write(operation, with_bypass, tmp_path):
    arguments, options, after = CASES[operation]
    root, template = tmp_path / "root", tmp_path / "template"
    namespace = build(root)
    if with_bypass:
        bypass(namespace, "a.t", 100)
    namespace.close()
    root.rename(template)
    put_back(template, root)
    outcomes = []
    for _ in crashes(root, {}, operation, arguments, options):
        outcomes.append(check(root, [[0, 1], after]))
        connect(root).insert_into_table("a.t", numbers(50))
        check(root, [sorted([*outcomes[-1], 50])])
        put_back(template, root)
    assert check(root, [after]) == after
    assert {tuple(seen) for seen in outcomes} == {(0, 1), tuple(after)}


def test_killed_at_every_write_of_a_commit_that_a_client_prepared(tmp_path):
    root, template = tmp_path / "root", tmp_path / "template"
    namespace = build(root)
    commit = staged_append(namespace, "a.t", 2)["create_table_version"]
    namespace.close()
    root.rename(template)
    put_back(template, root)
    outcomes = []
    for _ in crashes(root, {}, "create_table_version", (commit,), {}):
        outcomes.append(check(root, [[0, 1], [0, 1, 2]]))
        connect(root).create_table_version(commit)
        check(root, [[0, 1, 2]])
        put_back(template, root)
    assert [0, 1] in outcomes
    assert [0, 1, 2] in outcomes


def test_killed_at_every_write_of_the_first_version(tmp_path):
    root, template = tmp_path / "root", tmp_path / "template"
    build(root).close()
    root.rename(template)
    put_back(template, root)
    for _ in crashes(root, {}, "create_table", (("a", "new"), NEW), {}):
        namespace = connect(root)
        if "new" not in namespace.list_tables("a", include_declared=False).tables:
            namespace.create_table("a.new", NEW)
        assert ids(namespace, "a.new") == [2]
        assert versions(namespace, "a.new") == [1]
        put_back(template, root)

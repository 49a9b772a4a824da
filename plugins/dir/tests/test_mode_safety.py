"""V1, V2 and compatibility mode: what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.dir.tests.modes import EVERY_MODE, Properties
from plugins.dir.tests.support import MANIFEST, OURS, V1_ONLY, V2_ONLY, Client, outcome, tree, write_table


@pytest.mark.parametrize(
    "location", ["../out", "/etc/out", "file:///etc/out", "s3://bucket/out", MANIFEST, f"{MANIFEST}/x"]
)
@EVERY_MODE
def test_locations_outside_the_root_are_refused(tmp_path: Path, properties: Properties, location: str):
    root = tmp_path / "root"
    write_table(tmp_path, "out")
    client = Client(OURS, root, **properties)
    before = tree(tmp_path)

    assert outcome(lambda: client.register(("t",), location)) == "InvalidInput"
    assert outcome(lambda: client.declare(("t",), location=location)) == "InvalidInput"
    assert tree(tmp_path) == before


@pytest.mark.parametrize("start", ["missing", "empty", "v1", "full"])
@EVERY_MODE
def test_connecting_and_reading_write_nothing(tmp_path: Path, properties: Properties, start: str):
    root = tmp_path / "root"
    if start != "missing":
        root.mkdir()
    if start == "v1":
        write_table(root, "t.lance")
    if start == "full":
        writer = Client(OURS, root)
        writer.create_namespace(("a",))
        writer.create_table(("t",))
        writer.declare(("a", "d"))
        writer.create_table(("gone",))
        writer.deregister(("gone",))
    before = tree(tmp_path)

    client = Client(OURS, root, **properties)
    is_there = {"missing": False, "empty": False, "v1": properties != V2_ONLY, "full": True}[start]
    assert client.has_table(("t",)) == is_there
    assert client.tables() == (["t"] if is_there else [])
    assert client.namespaces() == (["a"] if start == "full" and properties != V1_ONLY else [])
    assert client.describe_namespace(()) == {}
    assert len(client.all_tables()) == len(client.tables()) + len(client.namespaces())
    assert outcome(lambda: client.describe(("missing",))) == "TableNotFound"
    assert outcome(lambda: client.describe(("missing", "t"))) == "NamespaceNotFound"
    if is_there:
        assert client.describe(("t",), load_detailed_metadata=True).version == 1
    client.close()

    assert tree(tmp_path) == before


@pytest.mark.parametrize("operation", ["drop", "deregister"])
@EVERY_MODE
def test_changes_that_are_refused_write_nothing(tmp_path: Path, properties: Properties, operation: str):
    root = tmp_path / "root"
    client = Client(OURS, root, **properties)

    assert outcome(lambda: getattr(client, operation)(("t",))) == "TableNotFound"
    assert outcome(lambda: client.rename(("t",), ("u",))) == "TableNotFound"
    assert outcome(lambda: client.create_table(("a", "t"))) == "NamespaceNotFound"
    assert outcome(lambda: client.drop_namespace(("a",))) in {"NamespaceNotFound", "UnsupportedOperation"}
    assert outcome(lambda: client.register(("t",), "missing")) == "InvalidInput"

    assert not root.exists()

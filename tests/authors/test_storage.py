"""A third party's storage plugin needs `lancespace.authoring` and nothing else of ours."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, ServiceUnavailableError

from lancespace import Namespace, connect
from lancespace.authoring import Cause, Connection, Storage, registry, translated
from lancespace_testing.threads import race
from tests.authors import boxes

ROOT = "box://lake/catalog"
ORDERS = pa.table({"id": [1, 2, 3]})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The plugin is installed, and has a directory for its buckets."""
    info = tmp_path / "site" / "boxes-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: boxes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lancespace.storage]\nbox = tests.authors.boxes:BoxStorage\n")
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.setenv("BOX_HOME", str(tmp_path / "home"))
    registry.refresh()
    yield tmp_path / "home"
    monkeypatch.undo()
    registry.refresh()


def catalog(**properties: str) -> Namespace:
    return connect("dir", {"root": ROOT, "manifest_enabled": "false", **properties})


def storage(**options: str) -> Storage:
    return Connection("memory", {}).storage(ROOT, options)


def files(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


def test_it_imports_nothing_else_of_ours():
    tree = ast.parse(Path(boxes.__file__ or "").read_text())
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in imported if module.startswith("lancespace")} == {"lancespace.authoring"}


def test_a_catalog_in_a_box():
    with catalog() as namespace:
        namespace.create_table("orders", ORDERS)
        namespace.insert_into_table("orders", ORDERS)
        namespace.declare_table("empty")
    with catalog() as namespace:
        assert sorted(namespace.tables()) == ["empty", "orders"]
        assert namespace.table("orders").count() == 6


def test_of_many_writers_one_wins(home: Path):
    store = storage()
    path = f"{store.path()}/mark"
    won = race(lambda number: store.put_if_absent(path, str(number).encode()), threads=8).won
    assert len(won) == 1
    assert files(home) == ["lake/catalog/mark"]
    assert (home / "lake/catalog/mark").read_text() == str(next(iter(won)))


def test_what_is_below_a_path_goes_and_nothing_beside(home: Path):
    store = storage()
    for name in ("a/mark", "a/data/deep/one", *(f"a/{number}" for number in range(25)), "ab", "a.b/c"):
        store.put_if_absent(f"{store.path()}/{name}", b"x")
    store.delete_tree(f"{store.path()}/a", last=f"{store.path()}/a/mark")
    store.delete_files([f"{store.path()}/ab", f"{store.path()}/gone"])
    assert files(home) == ["lake/catalog/a.b/c"]
    assert not (home / "lake/catalog/a").exists()


def test_its_failures_have_a_cause():
    store = storage(limit="3")
    with pytest.raises(ServiceUnavailableError, match=Cause.DISK_FULL.what), translated("write"):
        store.put_if_absent(f"{store.path()}/mark", b"long")


def test_its_options_are_checked():
    with pytest.raises(InvalidInputError, match=r"box storage has no option 'limits'. Did you mean 'limit'"):
        storage(limits="1").options  # noqa: B018 - asked for the sake of asking.


def test_it_vends_credentials():
    store = storage()
    assert [prop.name for prop in store.vendor_properties() or ()] == [boxes.LIFE]
    credentials = store.vend_credentials("read", {boxes.LIFE: 60})
    assert credentials.storage_options == {"box_key": f"read {ROOT}"}
    assert credentials.expires_at_millis == 60_000

"""A full disk, a read-only one, and one without permission: clear errors that say what to do, and nothing changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from lance_namespace import LanceNamespaceError

from lancespace import Namespace, connect
from lancespace.authoring import Cause

BIG = pa.table({"text": [os.urandom(1000).hex() for _ in range(4000)]})
CHANGES: dict[str, Callable[[Namespace], object]] = {
    "create_namespace": lambda ns: ns.create_namespace("b"),
    "declare_table": lambda ns: ns.declare_table("d"),
    "create_table": lambda ns: ns.create_table("new", BIG),
    "insert_into_table": lambda ns: ns.insert_into_table("t", BIG),
    "delete_from_table": lambda ns: ns.delete_from_table("t", predicate="text = 'x'"),
    "create_table_tag": lambda ns: ns.create_table_tag("t", tag="one", version=1),
    "drop_table": lambda ns: ns.drop_table("t"),
}


def mount(*arguments: str) -> None:
    if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount file systems")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes with a catalog."""
    place = tmp_path / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=3m", "lancespace-test", str(place))
    try:
        with connect("dir", {"root": str(place)}) as namespace:
            namespace.create_table("t", pa.table({"text": ["x", "y"]}))
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def refusal(change: str, place: Path, cause: Cause) -> None:
    with connect("dir", {"root": str(place)}) as namespace:
        with pytest.raises(LanceNamespaceError) as caught:
            CHANGES[change](namespace)
        message = str(caught.value)
        assert type(caught.value) is cause.kind, message
        assert cause.what in message
        assert cause.remedy in message
        assert ".rs:" not in message
        # A disk without any room has none to take a declared name back, either.
        assert set(namespace.tables()) == {"t", *({"new"} if "The name 'new' stays declared" in message else ())}
        assert namespace.table("t").count() == 2


@pytest.mark.parametrize("change", ["create_table", "insert_into_table"])
def test_a_full_disk(change: str, disk: Path):
    refusal(change, disk, Cause.DISK_FULL)


def test_a_table_that_found_no_room_can_be_created_again(disk: Path):
    refusal("create_table", disk, Cause.DISK_FULL)
    mount("-o", "remount,size=64m", str(disk))
    with connect("dir", {"root": str(disk)}) as namespace:
        namespace.create_table("new", BIG)
        assert namespace.table("new").count() == len(BIG)


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_disk(change: str, disk: Path):
    mount("-o", "remount,ro", str(disk))
    refusal(change, disk, Cause.READ_ONLY)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("change", CHANGES)
def test_a_directory_without_permission(change: str, tmp_path: Path):
    with connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.create_table("t", pa.table({"text": ["x", "y"]}))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    refusal(change, tmp_path, Cause.NO_PERMISSION)

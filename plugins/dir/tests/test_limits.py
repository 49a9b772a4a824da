"""A directory that may only be read, and a disk that is full: clear errors, and the catalog as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins.dir.tests.processes import Process
from plugins.dir.tests.support import MODES, OK, OURS, V1_ONLY, Client, outcome, tree

NOBODY = 65534


def as_nobody(root: Path, elsewhere: Path, properties: dict[str, str]) -> dict[str, object]:
    """What a user who may not write sees and is told."""
    Client(OURS, elsewhere, **properties).create_table(("t",))
    look(Client(OURS, elsewhere, **properties))  # All is imported by now: Python itself may not be readable for others.
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    return look(Client(OURS, root, **properties))


def look(client: Client) -> dict[str, object]:
    """Read and write something of everything."""
    return {
        "tables": client.tables(),
        "exists": client.has_table(("t",)),
        "rows": client.describe(("t",), load_detailed_metadata=True).version,
        "declare": outcome(lambda: client.declare(("new",))),
        "create": outcome(lambda: client.create_table(("new",))),
        "deregister": outcome(lambda: client.deregister(("t",))),
        "drop": outcome(lambda: client.drop(("t",))),
        "tables then": client.tables(),
    }


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become a user who may not write")
@pytest.mark.parametrize("mode", MODES)
def test_read_only_directories_are_read_and_not_written(tmp_path: Path, mode: str):
    with Shared() as root:
        Client(OURS, root, **MODES[mode]).create_table(("t",))
        make_readable(root)
        before = tree(root)

        told = Process(as_nobody, root, tmp_path, MODES[mode]).result()

        assert told == {
            "tables": ["t"],
            "exists": True,
            "rows": 1,
            "declare": "PermissionDenied",
            "create": "PermissionDenied",
            "deregister": "PermissionDenied",
            "drop": "PermissionDenied",
            "tables then": ["t"],
        }
        assert tree(root) == before


class Shared:
    """A directory that other users can reach, unlike pytest's."""

    def __enter__(self) -> Path:
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        Path(self._folder.name).chmod(0o755)
        return Path(self._folder.name)

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def make_readable(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], check=False)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 1024)


@pytest.mark.parametrize("mode", MODES)
def test_a_full_disk_is_told_and_nothing_is_lost(small_disk: Path, mode: str):
    client = Client(OURS, small_disk, **MODES[mode])
    client.create_table(("t",))
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        fill(filler)

    assert outcome(lambda: client.create_table(("new",))) == "ServiceUnavailable"
    if MODES[mode] != V1_ONLY:
        assert outcome(lambda: client.create_namespace(("new",))) == "ServiceUnavailable"
    assert client.tables() in (["t"], ["new", "t"])
    assert client.describe(("t",), load_detailed_metadata=True).version == 1

    filler.unlink()
    assert outcome(lambda: client.create_table(("new",))) == OK
    assert Client(OURS, small_disk, **MODES[mode]).tables() == ["new", "t"]

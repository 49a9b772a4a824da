"""The conformance suite of storage plugins: what backends rely on in a store, whichever it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import Connection, Storage
from lancespace_testing.threads import THREADS, race

_NAMES = [f"n{number}" for number in range(20)]

_WRITER = """
import json, sys
from lancespace.authoring import Connection
location, options, names = map(json.loads, sys.argv[1:])
storage = Connection("memory", {}).storage(location, options)
sys.stdin.readline()
for name in names:
    try:
        storage.put_if_absent(f"{storage.path()}/{name}", b"x" * 1000)
    except FileExistsError:
        continue
    print(name)
"""


class StorageConformance:
    """Subclass it, name the class ``Test...``, and implement ``location``."""

    options: ClassVar[Mapping[str, str]] = {}
    """The storage options that the store needs."""
    secrets: ClassVar[Mapping[str, str]] = {}
    """Options with values that must never be shown."""

    def location(self, tmp_path: Path) -> str:
        """An empty place in the store, as a location; ``tmp_path`` is an empty directory."""
        raise NotImplementedError(f"{type(self).__name__} must implement location(tmp_path)")

    def open(self, location: str, options: Mapping[str, str]) -> Storage:
        """The store at a location; each call is another client."""
        return Connection("memory", {}).storage(location, options)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Storage:
        """The store at an empty place."""
        return self.open(self.location(tmp_path), self.options)

    def test_put_if_absent(self, store: Storage) -> None:
        """A file is written once, with all that its path needs; what is there stays, and nothing is left beside it."""
        path = f"{store.path()}/a/b/marker"
        store.put_if_absent(path, b"first")
        with pytest.raises(FileExistsError, match="marker exists already"):
            store.put_if_absent(path, b"second")
        store.put_if_absent(path, b"first", unique=True)
        assert store.filesystem.cat_file(path) == b"first"
        assert list(store.list_tree(store.path())) == [path]

    def test_one_of_many_threads_puts(self, store: Storage) -> None:
        """Of many threads, each with a client of its own, one puts a file, and it has his content."""
        clients = [self.open(store.location, self.options) for _ in range(THREADS)]

        def put(path: str, who: int) -> None:
            clients[who].put_if_absent(path, str(who).encode())

        for name in _NAMES:
            path = f"{store.path()}/{name}"
            winner = race(partial(put, path)).winner({"FileExistsError"})
            assert store.filesystem.cat_file(path) == str(winner).encode()

    def test_one_of_many_processes_puts(self, store: Storage) -> None:
        """Of many processes, one puts a file."""
        arguments = [json.dumps(value) for value in (store.location, dict(self.options), _NAMES)]
        writers = [
            subprocess.Popen(  # noqa: S603 - this interpreter, and the text above
                [sys.executable, "-c", _WRITER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(3)
        ]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        won = [name for writer in writers for name in writer.communicate()[0].split()]
        assert sorted(won) == sorted(_NAMES)

    def test_what_was_written_is_listed(self, store: Storage) -> None:
        """Another client lists what was written or deleted right before."""
        other = self.open(store.location, self.options)
        assert other.list_tree(other.path()) == {}
        for name in ("a", "b/c"):
            store.put_if_absent(f"{store.path()}/{name}", b"x")
        assert sorted(other.list_tree(other.path())) == [f"{store.path()}/a", f"{store.path()}/b/c"]
        store.delete_files([f"{store.path()}/a"])
        assert list(other.list_tree(other.path())) == [f"{store.path()}/b/c"]

    @pytest.mark.parametrize("last", [None, "mark"])
    def test_delete_tree(self, store: Storage, last: str | None) -> None:
        """All that is below a path is deleted, and nothing beside it; a repeat is no error."""
        root = store.path()
        beside = sorted(f"{root}/{name}" for name in ("t-2/data", "tt/data", "t.lance", "s/t/data"))
        for path in (*beside, f"{root}/t/mark", f"{root}/t/data/file"):
            store.put_if_absent(path, b"x")
        for _ in range(2):
            store.delete_tree(f"{root}/t", last=last and f"{root}/t/{last}")
            assert sorted(store.list_tree(root)) == beside

    def test_delete_files(self, store: Storage) -> None:
        """Files are deleted, and those that are not there are no error."""
        paths = [f"{store.path()}/{name}" for name in ("a", "b", "c")]
        for path in paths:
            store.put_if_absent(path, b"x")
        store.delete_files([paths[0], f"{store.path()}/absent", paths[1]])
        assert list(store.list_tree(store.path())) == paths[2:]

    def test_delete_unchanged(self, store: Storage) -> None:
        """A file is deleted only if it is still the one that was listed."""
        path = f"{store.path()}/file"
        store.put_if_absent(path, b"first")
        listed = store.list_tree(store.path())[path]
        store.filesystem.pipe_file(path, b"another one")
        assert not store.delete_unchanged(path, listed)
        assert store.filesystem.cat_file(path) == b"another one"
        assert store.delete_unchanged(path, store.list_tree(store.path())[path])
        assert not store.delete_unchanged(path, listed)
        assert store.list_tree(store.path()) == {}

    def test_unknown_options_are_refused(self, store: Storage) -> None:
        """An option that the store does not know is refused by name, with no secret in the message."""
        with pytest.raises(InvalidInputError, match="'made_up'") as caught:
            _ = self.open(store.location, {**self.options, **self.secrets, "made_up": "eu"}).options
        assert not any(secret in str(caught.value) for secret in self.secrets.values())

    def test_secrets_are_not_shown(self, store: Storage) -> None:
        """A representation has no secrets."""
        shown = repr(self.open(store.location, {**self.options, **self.secrets}))
        assert not any(secret in shown for secret in self.secrets.values())

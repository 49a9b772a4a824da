"""A party that is paused before and after its n-th call to storage, while others go on."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import lance
import lance.fragment
import pytest

from lancespace.authoring import Storage
from lancespace_dir.manifest import writer
from lancespace_dir.manifest.versions import VersionFiles

_CALLS = (
    (os, ("link", "listdir", "mkdir", "remove", "rename", "replace", "rmdir", "unlink")),
    (VersionFiles, ("exists", "identity", "read", "put", "confirm")),
    (Storage, ("delete_files", "delete_tree", "delete_unchanged", "exists", "list_tree", "put_if_absent")),
    (writer, ("write_fragments",)),
    (lance, ("dataset", "write_dataset")),
    (lance.LanceDataset, ("checkout_version", "commit", "drop_index", "create_scalar_index")),
    (lance.fragment.LanceFragment, ("delete_rows", "scanner")),
)


class Pauses:
    """Calls what others do meanwhile, once, at the n-th moment of the thread that is watched."""

    def __init__(self) -> None:
        self._left = 0
        self._meanwhile: Callable[[], object] = list
        self._thread: int | None = None

    @contextmanager
    def at(self, moment: int, meanwhile: Callable[[], object]) -> Iterator[None]:
        """Pause what this thread does in the block at a moment."""
        self._left, self._meanwhile, self._thread = moment, meanwhile, threading.get_ident()
        try:
            yield
        finally:
            self._thread = None

    @property
    def has_paused(self) -> bool:
        """Whether the last block got to its moment."""
        return self._left <= 0

    def moments(self) -> Iterator[int]:
        """All moments of what is done in the blocks."""
        for moment in count(1):
            yield moment
            if not self.has_paused:
                return

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call with a moment before and one after it."""

        @functools.wraps(call)
        def pausing(*arguments: Any, **options: Any) -> Any:
            self._tick()
            try:
                return call(*arguments, **options)
            finally:
                self._tick()

        return pausing

    def _tick(self) -> None:
        if self._thread == threading.get_ident():
            self._left -= 1
            if self._left == 0:
                self._thread = None
                self._meanwhile()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """Pauses at any call to storage; nobody queues for commits."""
    found = Pauses()
    for owner, names in _CALLS:
        for name in names:
            monkeypatch.setattr(owner, name, found.around(getattr(owner, name)))
    monkeypatch.setattr("tempfile.tempdir", "/not/there")
    return found

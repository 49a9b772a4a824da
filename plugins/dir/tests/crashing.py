"""A process that is killed at its n-th write to storage."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import lance
import lance.fragment

from lancespace_dir.manifest import writer
from plugins.dir.tests.processes import Process
from plugins.dir.tests.support import OURS, Client, outcome

_LANCE_WRITES = (
    (lance.fragment, "write_fragments"),
    (writer, "write_fragments"),
    (lance, "write_dataset"),
    (lance.LanceDataset, "commit"),
    (lance.LanceDataset, "update_metadata"),
    (lance.fragment.LanceFragment, "delete_rows"),
)
_FILE_WRITES = ("link", "mkdir", "remove", "rename", "replace", "rmdir", "unlink")


def crashes(
    root: Path, properties: dict[str, str], operation: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Iterator[int]:
    """Run an operation again and again, killed a little later each time, until it gets through.

    Yields the number of the moment after each crash; the caller looks at the catalog, and puts it back as it was.
    """
    for moment in count(1):
        process = Process(_run, moment, root, properties, operation, arguments, options)
        try:
            assert process.result() == "ok"
        except EOFError:
            yield moment
        else:
            return


def _run(
    moment: int,
    root: Path,
    properties: dict[str, str],
    operation: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> str:
    client = Client(OURS, root, **properties)
    Killer(moment).install()
    call = getattr(client, operation, None) or getattr(client.namespace, operation)
    return outcome(lambda: call(*arguments, **options))


class Killer:
    """Kills its own process before or after a write, as a power failure would."""

    def __init__(self, moment: int) -> None:
        self._left = moment

    def install(self) -> None:
        for owner, name in _LANCE_WRITES:
            setattr(owner, name, self._around(getattr(owner, name)))
        for name in _FILE_WRITES:
            setattr(os, name, self._around(getattr(os, name)))

    def _around(self, write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def killing(*arguments: Any, **options: Any) -> Any:
            self._tick()
            answer = write(*arguments, **options)
            self._tick()
            return answer

        return killing

    def _tick(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

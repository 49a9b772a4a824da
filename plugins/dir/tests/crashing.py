"""A process that dies at its n-th write, wherever that is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance.fragment
from fsspec.implementations.local import LocalFileSystem

from lancespace_dir.manifest import writer
from plugins.dir.tests.support import OURS, Client, Id

WRITES: tuple[tuple[Any, str], ...] = (
    (lance.fragment, "write_fragments"),
    (writer, "write_fragments"),
    (lance.LanceDataset, "commit"),
    (LocalFileSystem, "rm"),
    (LocalFileSystem, "rm_file"),
    (Path, "touch"),
    (Path, "mkdir"),
    (Path, "rename"),
    (os, "link"),
    (os, "unlink"),
    (os, "rmdir"),
)
"""All that changes storage; each is a moment before it and one after it."""

OPERATIONS: dict[str, Callable[[Client], object]] = {
    "create namespace": lambda client: client.create_namespace(("new",)),
    "create nested namespace": lambda client: client.create_namespace(("ns", "new")),
    "drop namespace": lambda client: client.drop_namespace(("empty",)),
    "cascade": lambda client: client.drop_namespace(("ns",), behavior="Cascade"),
    "declare": lambda client: client.declare(("ns", "d")),
    "declare in root": lambda client: client.declare(("d",)),
    "create table": lambda client: client.create_table(("ns", "c")),
    "create table in root": lambda client: client.create_table(("c",)),
    "register": lambda client: client.register(("ns", "s"), "stray"),
    "deregister": lambda client: client.deregister(("ns", "t")),
    "deregister in root": lambda client: client.deregister(("r",)),
    "rename": lambda client: client.rename(("ns", "t"), ("renamed",)),
    "rename in root": lambda client: client.rename(("r",), ("renamed",)),
    "rename out of root": lambda client: client.rename(("r",), ("ns", "r")),
    "drop table": lambda client: client.drop(("ns", "t")),
    "drop table in root": lambda client: client.drop(("r",)),
}


def die_at(moment: int, root: Path, properties: dict[str, str], operation: str) -> int:
    """Do an operation, and be killed at its n-th moment; the number of moments if it ends before that."""
    client = Client(OURS, root, **properties)
    client.all_tables()
    passed = 0

    def pass_by() -> None:
        nonlocal passed
        passed += 1
        if passed == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            pass_by()
            answer = function(*arguments, **options)
            pass_by()
            return answer

        return call

    for owner, name in WRITES:
        setattr(owner, name, watched(getattr(owner, name)))
    OPERATIONS[operation](client)
    return passed


def names_of(operation: str) -> Id:
    """The table that an operation creates, if it does."""
    return {"create table": ("ns", "c"), "create table in root": ("c",)}.get(operation, ())

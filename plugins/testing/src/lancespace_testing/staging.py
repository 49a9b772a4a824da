"""Staged manifests: what a client has written when it asks the catalog to make them a version."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import lance

from lancespace.authoring import Storage
from lancespace_testing.samples import sample


def stage_append(table: Storage, *, start: int = 0, stop: int = 2) -> dict[str, Any]:
    """Do all of an append of sample rows but the commit, and return what the request for that says.

    The append is made on a copy of the table; its data file and transaction go to the table, its manifest to a name
    that no reader looks at.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        _fetch(table, copy)
        before = _files(copy)
        version = lance.write_dataset(sample(start, stop), scratch, mode="append").version
        for written in _files(copy) - before:
            if written.suffix == ".manifest":
                staged = _store(table, copy, written, f"{written}-staged-{start}-{stop}")
                size = (copy / written).stat().st_size
            else:
                _store(table, copy, written, str(written))
    path = staged.lstrip("/") if table.is_local else staged.lstrip("/").partition("/")[2]
    return {"version": version, "manifest_path": path, "manifest_size": size, "naming_scheme": "V2"}


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def _fetch(table: Storage, folder: Path) -> None:
    for path in table.filesystem.find(table.path()):
        target = folder / path.removeprefix(f"{table.path()}/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(table.filesystem.cat_file(path))


def _store(table: Storage, folder: Path, written: Path, name: str) -> str:
    """Write a file of the copy to the table, and return its path there."""
    target = f"{table.path()}/{name}"
    if table.is_local:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    table.filesystem.pipe_file(target, (folder / written).read_bytes())
    return target

"""Staged manifests: what a client has written when it asks the catalog to make them a version."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import lance

from lancespace.testing.samples import sample

_STAGED = "-staged"


def stage_append(location: str, *, start: int = 0, stop: int = 2) -> dict[str, Any]:
    """Do all of an append of sample rows but the commit, and return what the request for that says.

    The append is made on a copy of the table; its data file and transaction go to the table, its manifest to a name
    that no reader looks at.
    """
    table = Path(location.removeprefix("file://"))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / table.name
        shutil.copytree(table, copy)
        version = lance.write_dataset(sample(start, stop), str(copy), mode="append").version
        for written in sorted(path for path in copy.rglob("*") if path.is_file()):
            target = table / written.relative_to(copy)
            if not target.exists() and written.suffix != ".manifest":
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(written, target)
        manifest = next(path for path in (copy / "_versions").glob("*.manifest") if not _in(table, path).exists())
        staged = _in(table, manifest).with_name(f"{manifest.name}{_STAGED}-{start}-{stop}")
        shutil.copyfile(manifest, staged)
    return {
        "version": version,
        "manifest_path": str(staged).lstrip("/"),
        "manifest_size": staged.stat().st_size,
        "naming_scheme": "V2",
    }


def _in(table: Path, manifest: Path) -> Path:
    return table / "_versions" / manifest.name

"""Ingest: files into a table, each of them once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

import lancespace_jobs as jobs
from lancespace.authoring import JobState, JobStatus
from lancespace_jobs import JobRecords, TableSpec
from lancespace_spark.pipeline.context import Context, Done, Look
from lancespace_spark.pipeline.locking import owner

if TYPE_CHECKING:
    from lancespace_spark.pipeline.model import Step

_RECORDS = 1000
"""As many as a catalog keeps."""

Stamps = Mapping[str, str]
"""Files, each with a stamp that changes when it does."""


def find(step: Step, context: Context) -> dict[str, str]:
    """The files that a step names."""
    import fsspec

    given = step.get("files")
    found: dict[str, str] = {}
    for pattern in [given] if isinstance(given, str) else given:
        whole = pattern if "://" in pattern else str(Path(context.pipeline.folder, pattern))
        filesystem, path = fsspec.core.url_to_fs(whole)
        for one in filesystem.glob(path) if "*" in path else [path]:
            for name, info in filesystem.find(one, detail=True).items():
                stamp = str(info.get("ETag") or info.get("mtime") or info.get("updated") or info.get("last_modified"))
                found[filesystem.unstrip_protocol(name)] = f"{info.get('size')} {stamp}"
    if not found:
        raise InvalidInputError(f"'files': there is no file {given!r}")
    return found


def is_current(seen: Stamps, now: Stamps) -> bool:
    """Whether there is no file that was not there before; one that is gone changes nothing."""
    return all(seen.get(path) == stamp for path, stamp in now.items())


def ingest(step: Step, look: Look, context: Context) -> Done:
    """Import the files that were not there last time.

    What is about to be imported is noted first. A run that finds such a note looks whether the import came to its end,
    and otherwise has it go on with the same files: it knows those that it has committed.
    """
    if step.mode == "overwrite":
        return Done(_import(step, list(look.now), "overwrite", context), look.now)
    known: Stamps = look.seen or {}
    if look.began is not None:
        rows = _finished(step, look, context)
        if rows is not None:
            return Done(rows, {**known, **look.began["files"]})
    _refuse_changed(known, look.now)
    new = {path: stamp for path, stamp in look.now.items() if path not in known}
    version = context.version(step.writes)
    context.begin({"files": new, "version": version, "at": time.time(), "owner": owner()})
    return Done(_import(step, list(new), "append", context), {**known, **new})


def _import(step: Step, files: Sequence[str], mode: str, context: Context) -> int:
    return context.wait(jobs.import_files(context.namespace, step.writes, files, format=step.get("format"), mode=mode))


def _finished(step: Step, look: Look, context: Context) -> int | None:
    """The rows of an import whose end was not noted; None if it has changed nothing, and can be forgotten."""
    job = _job_of(step, look.began, context)
    if job is not None and job.state is JobState.SUCCEEDED:
        return job.rows or 0
    if context.version(step.writes) == look.began["version"]:
        return None
    changed = [path for path, stamp in look.began["files"].items() if look.now.get(path) != stamp]
    if changed:
        raise InvalidInputError(
            f"an import into {step.writes!r} was interrupted, and the table and {changed[0]!r} have changed since: "
            "whether its rows are there cannot be told. Put the file back as it was, or give the step mode "
            "'overwrite' or a new table in 'into'"
        )
    return _import(step, list(look.began["files"]), "append", context)


def _job_of(step: Step, began: Mapping[str, Any], context: Context) -> JobStatus | None:
    """The job of the import that was begun, from the catalog's records."""
    records, about = JobRecords(context.files), TableSpec.of(context.namespace, step.writes).name
    for job_id in records.latest(_RECORDS):
        job = records.load(job_id)
        if job is None:
            continue
        if job.created_at < began["at"]:
            return None
        if (job.kind, job.about, job.owner) == ("import", about, began["owner"]):
            return job
    return None


def _refuse_changed(known: Stamps, now: Stamps) -> None:
    changed = [path for path, stamp in now.items() if path in known and known[path] != stamp]
    if changed:
        raise InvalidInputError(
            f"the file {changed[0]!r} has changed since it was ingested, and its rows would be there twice: put new "
            "rows into a new file, or give the step mode 'overwrite', which takes in all files anew"
        )

"""Where tasks put their data files until the driver makes them visible in one commit, or takes them away again.

Tasks die without a word, so what they wrote must be found without them. On a local disk they write into a folder of
the job, from which the driver moves the files of a commit into the table. In an object store moving means copying;
there they write into the table, where nobody sees files that no version names, and keep a list of them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from lance.dataset import Transaction
from lance.fragment import FragmentMetadata
from lance_namespace import (
    ConcurrentModificationError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from lancespace.authoring import Storage
from lancespace_jobs._exact_commits import commit_first
from lancespace_jobs._table_spec import TableSpec
from lancespace_jobs._written import CountedRows, Written, files_of, fragments_of

FOLDER = "_lancespace_jobs"
"""The folder of a table in which jobs keep what is not part of it; nothing of Lance's has that name."""


@dataclass(frozen=True)
class Stage:
    """The files of one job, from the first task to the commit."""

    handle: TableSpec
    job: str
    mode: str
    """As :func:`lance.fragment.write_fragments` has it: append, overwrite or create."""

    def prepare(self) -> None:
        """On the driver, before any task: make the job's folder, with the table's schema in it.

        A job that is repeated finds its folder, with the files of the tasks that were finished.
        """
        storage = self.handle.storage()
        folder = self._folder(storage)
        if storage.is_local and self.mode != "create" and not storage.exists(f"{folder}/_versions"):
            dataset = self.handle.open()
            dataset.shallow_clone(folder, dataset.version)

    def has(self, written: Written) -> bool:
        """Whether the files that a task wrote are still there; they go with the table, or with a clean-up."""
        storage = self.handle.storage()
        folders = [storage.path(), self._folder(storage)] if storage.is_local else [storage.path()]
        names = [file["path"] for fragment in written["fragments"] for file in fragment["files"]]
        return all(any(storage.exists(f"{at}/data/{name}") for at in folders) for name in names)

    def is_committed(self, fragments: Sequence[FragmentMetadata]) -> bool:
        """Whether an earlier attempt got as far as the commit, and died before it could say so."""
        latest = self.handle.latest()
        ours = frozenset(files_of(fragments))
        return latest is not None and not ours.isdisjoint(files_of(one.metadata for one in latest.get_fragments()))

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **settings: Any) -> Written:
        """In a task: write rows as data files, which nobody sees yet."""
        rows = CountedRows(batches)
        if rows.is_empty():
            return {"fragments": [], "rows": 0}
        reader = pa.RecordBatchReader.from_batches(schema, rows)
        written = lance.fragment.write_fragments(reader, schema=schema, mode=self.mode, **self._target(), **settings)
        storage = self.handle.storage()  # Again: credentials may have expired while the rows were written.
        if not storage.is_local:
            for path in files_of(written):
                storage.filesystem.pipe_file(f"{self._folder(storage)}/{path}", b"")
        return {"fragments": [fragment.to_json() for fragment in written], "rows": rows.count}

    def publish(self, results: Iterable[Written]) -> list[FragmentMetadata]:
        """On the driver, before the commit: the files of the tasks that count, in their final place.

        Raises:
            InvalidTableStateError: One of them was deleted meanwhile.
        """
        fragments = fragments_of(results)
        storage = self.handle.storage()
        if storage.is_local:
            data, staged = (Path(f"{at}/data") for at in (storage.path(), self._folder(storage)))
            data.mkdir(parents=True, exist_ok=True)
            for path in files_of(fragments):
                _move(staged / path, data / path)
        return fragments

    @contextmanager
    def published(self, results: Iterable[Written]) -> Iterator[list[FragmentMetadata]]:
        """Around the only attempt to commit: :meth:`publish` before, and nothing of the job left behind after it.

        If others were in its way, its files are removed. If nobody knows whether it succeeded they stay: they may be
        part of the table.
        """
        fragments = kept = self.publish(results)
        try:
            yield fragments
        except ConcurrentModificationError:
            if not self.is_committed(fragments):  # A store may refuse the repeat of a request that had succeeded.
                kept = []
                self.withdraw(fragments)
            raise
        finally:
            self.discard(kept)

    def commit(
        self,
        schema: pa.Schema,
        fragments: list[FragmentMetadata],
        read_version: int | None,
        properties: dict[str, str] | None = None,
    ) -> int:
        """Make fragments visible in one version, and answer its number.

        An append goes on top of whatever is the latest then; an overwrite or a first version must be the next after
        the one that was there when the write was planned. ``properties`` are kept with the transaction.
        """
        is_append = self.mode == "append"
        operation: Any = (
            lance.LanceOperation.Append(fragments) if is_append else lance.LanceOperation.Overwrite(schema, fragments)
        )
        transaction = Transaction(read_version or 0, operation, transaction_properties=properties or {})
        if self.mode == "create":
            done = commit_first(self.handle.place(), transaction)
        else:
            retries = {} if is_append else {"max_retries": 0}
            done = lance.LanceDataset.commit(self.handle.open(), transaction, **retries)
        version: int = done.version
        return version

    def withdraw(self, fragments: Sequence[FragmentMetadata]) -> None:
        """Remove files that were published and turned out not to be needed: no version names them."""
        _remove_data(self.handle.storage(), files_of(fragments))

    def discard(self, kept: Sequence[FragmentMetadata] = ()) -> None:
        """Remove everything of the job that is not part of what was committed."""
        storage = self.handle.storage()
        if not storage.is_local:
            self._remove_listed(storage, frozenset(files_of(kept)))
        storage.delete_tree(self._folder(storage))

    def _folder(self, storage: Storage) -> str:
        """The folder of the job, as a path of the file system."""
        return f"{storage.path()}/{FOLDER}/{self.job}"

    def _target(self) -> dict[str, Any]:
        """Where tasks write; in a store, with credentials that are renewed however long it takes."""
        place = self.handle.place()
        storage = self.handle.storage(place)
        if storage.is_local:
            return {"dataset_uri": self._folder(storage), "storage_options": dict(place.storage_options)}
        if self.mode == "create":
            return {"dataset_uri": place.location, **self.handle.renewing(place)}
        return {"dataset_uri": self.handle.open()}

    def _remove_listed(self, storage: Storage, kept: frozenset[str]) -> None:
        listed = storage.filesystem.find(self._folder(storage))
        doubtful = {posixpath.basename(str(entry)) for entry in listed} - kept
        if doubtful:  # A commit of an earlier attempt, whose driver died right after it, has some of them.
            _remove_data(storage, _unnamed(self.handle.latest(), doubtful))


def _remove_data(storage: Storage, names: Iterable[str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            storage.filesystem.rm_file(f"{storage.path()}/data/{name}")


def _move(staged: Path, final: Path) -> None:
    try:
        staged.rename(final)
    except FileNotFoundError as error:
        if not final.exists():  # Otherwise an earlier attempt to commit the same results moved it.
            raise InvalidTableStateError(
                f"the file {staged}, which a task wrote, is gone: start the job anew"
            ) from error


def stages_of(handle: TableSpec, prefix: str) -> list[Stage]:
    """The stages of a table whose jobs begin so."""
    storage = handle.storage()
    try:
        found = storage.filesystem.ls(f"{storage.path()}/{FOLDER}", detail=False)
    except FileNotFoundError:
        return []
    names = (posixpath.basename(str(path).rstrip("/")) for path in found)
    return [Stage(handle, name, "append") for name in names if name.startswith(prefix)]


def discard_all(handle: TableSpec, prefix: str) -> None:
    """Remove the stages whose jobs begin so, on a local disk.

    In an object store they stay: what they list may be part of a commit whose answer was lost.
    """
    if handle.storage().is_local:
        for stage in stages_of(handle, prefix):
            stage.discard()


def _unnamed(dataset: lance.LanceDataset | None, files: Iterable[str]) -> set[str]:
    """Those data files that no version of the table refers to."""
    left = set(files)
    if dataset is None:
        return left
    for version in sorted((entry["version"] for entry in dataset.versions()), reverse=True):
        if not left:
            break
        fragments = dataset.checkout_version(version).get_fragments()
        left.difference_update(file.path for one in fragments for file in one.metadata.files)
    return left


def declare(handle: TableSpec) -> bool:
    """Reserve the name of a new table; False if it is reserved already."""
    try:
        handle.namespace.declare_table(list(handle.id))
    except TableAlreadyExistsError:
        return False
    return True


def take_back(handle: TableSpec, mark: str | None = None) -> None:
    """Drop a table that a failed job has declared, unless others have begun to write to it.

    Files without a version are those of a writer that is about to commit: then the declaration stays, and harms nobody.
    Those of the failed job are deleted, if its mark is given. A backend that has ``drop_declared`` drops on that
    condition; for others the look comes right before the drop.
    """
    namespace = handle.namespace
    drop = getattr(namespace.backend, "drop_declared", namespace.drop_table)
    with suppress(TableNotFoundError, NamespaceNotFoundError):
        if handle.latest() is not None:
            return
        for stage in [] if mark is None else stages_of(handle, mark):
            stage.discard()
        if not _has_files(handle):
            drop(list(handle.id))


def _has_files(handle: TableSpec) -> bool:
    storage = handle.storage()
    return any(storage.filesystem.find(f"{storage.path()}/{folder}") for folder in ("data", FOLDER))

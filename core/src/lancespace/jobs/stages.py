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
from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace.jobs import history
from lancespace.jobs.creating import commit_first
from lancespace.jobs.written import CountedRows, Written, files_of, fragments_of
from lancespace.storage import scheme_of

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

    from lancespace.handles import TableHandle
    from lancespace.storage import Storage
    from lancespace.tables.access import TableRef

FOLDER = "_lancespace_jobs"
"""The folder of a table in which jobs keep what is not part of it; nothing of Lance's has that name."""


@dataclass(frozen=True)
class Stage:
    """The files of one job, from the first task to the commit."""

    handle: TableHandle
    job: str
    mode: str
    """As :func:`lance.fragment.write_fragments` has it: append, overwrite or create."""

    def prepare(self) -> None:
        """On the driver, before any task: make the job's folder, with the table's schema in it.

        A job that is repeated finds its folder, with the files of the tasks that were finished.
        """
        place = self.handle.place()
        storage = self.handle.storage(place)
        cloned = storage.path(f"{self._folder(place)}/_versions")
        if _is_local(place) and self.mode != "create" and not storage.exists(cloned):
            dataset = self.handle.open()
            dataset.shallow_clone(self._folder(place), dataset.version)

    def has(self, written: Written) -> bool:
        """Whether the files that a task wrote are still there; they go with the table, or with a clean-up."""
        place = self.handle.place()
        storage = self.handle.storage(place)
        folders = [place.location, self._folder(place)] if _is_local(place) else [place.location]
        names = [file["path"] for fragment in written["fragments"] for file in fragment["files"]]
        return all(any(storage.exists(storage.path(f"{at}/data/{name}")) for at in folders) for name in names)

    def is_committed(self, fragments: Sequence[FragmentMetadata]) -> bool:
        """Whether an earlier attempt got as far as the commit, and died before it could say so."""
        latest = self.handle.latest()
        ours = frozenset(files_of(fragments))
        return latest is not None and not ours.isdisjoint(files_of(one.metadata for one in latest.get_fragments()))

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **settings: Any) -> Written:
        """In a task: write rows as data files, which nobody sees yet."""
        import pyarrow as pa
        from lance.fragment import write_fragments

        rows = CountedRows(batches)
        if rows.is_empty():
            return {"fragments": [], "rows": 0}
        place = self.handle.place()
        reader = pa.RecordBatchReader.from_batches(schema, rows)
        written = write_fragments(reader, schema=schema, mode=self.mode, **self._target(place), **settings)
        if not _is_local(place):
            self._list(self.handle.place(), written)  # Credentials may have expired while the rows were written.
        return {"fragments": [fragment.to_json() for fragment in written], "rows": rows.count}

    def publish(self, results: Iterable[Written]) -> list[FragmentMetadata]:
        """On the driver, before the commit: the files of the tasks that count, in their final place.

        Raises:
            InvalidTableStateError: If somebody has deleted one of them meanwhile.
        """
        fragments = fragments_of(results)
        place = self.handle.place()
        if _is_local(place):
            storage = self.handle.storage(place)
            data, staged = (Path(storage.path(f"{at}/data")) for at in (place.location, self._folder(place)))
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
        import lance
        from lance.dataset import Transaction

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
        place = self.handle.place()
        _remove_data(self.handle.storage(place), place, files_of(fragments))

    def discard(self, kept: Sequence[FragmentMetadata] = ()) -> None:
        """Remove everything of the job that is not part of what was committed."""
        place = self.handle.place()
        storage = self.handle.storage(place)
        if not _is_local(place):
            self._remove_listed(storage, place, frozenset(files_of(kept)))
        storage.delete_tree(storage.path(self._folder(place)))

    def _folder(self, place: TableRef) -> str:
        return f"{place.location}/{FOLDER}/{self.job}"

    def _target(self, place: TableRef) -> dict[str, Any]:
        """Where tasks write; in a store, with credentials that are renewed however long it takes."""
        if _is_local(place):
            return {"dataset_uri": self._folder(place), "storage_options": dict(place.storage_options)}
        if self.mode == "create":
            return {"dataset_uri": place.location, **self.handle.renewing(place)}
        return {"dataset_uri": self.handle.open()}

    def _list(self, place: TableRef, written: Sequence[FragmentMetadata]) -> None:
        storage = self.handle.storage(place)
        for path in files_of(written):
            storage.filesystem.pipe_file(storage.path(f"{self._folder(place)}/{path}"), b"")

    def _remove_listed(self, storage: Storage, place: TableRef, kept: frozenset[str]) -> None:
        listed = storage.filesystem.find(storage.path(self._folder(place)))
        doubtful = {posixpath.basename(str(entry)) for entry in listed} - kept
        if doubtful:  # A commit of an earlier attempt, whose driver died right after it, has some of them.
            _remove_data(storage, place, history.unnamed(self.handle.latest(), doubtful))


def _remove_data(storage: Storage, place: TableRef, names: Iterable[str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            storage.filesystem.rm_file(storage.path(f"{place.location}/data/{name}"))


def _move(staged: Path, final: Path) -> None:
    try:
        staged.rename(final)
    except FileNotFoundError as error:
        if not final.exists():  # Otherwise an earlier attempt to commit the same results moved it.
            raise InvalidTableStateError(
                f"the file {staged}, which a task wrote, is gone: start the job anew"
            ) from error


def stages_of(handle: TableHandle, prefix: str) -> list[Stage]:
    """The stages of a table whose jobs begin so."""
    place = handle.place()
    storage = handle.storage(place)
    try:
        found = storage.filesystem.ls(storage.path(f"{place.location}/{FOLDER}"), detail=False)
    except FileNotFoundError:
        return []
    names = (posixpath.basename(str(path).rstrip("/")) for path in found)
    return [Stage(handle, name, "append") for name in names if name.startswith(prefix)]


def discard_all(handle: TableHandle, prefix: str) -> None:
    """Remove the stages whose jobs begin so, on a local disk.

    In an object store they stay: what they list may be part of a commit whose answer was lost.
    """
    if _is_local(handle.place()):
        for stage in stages_of(handle, prefix):
            stage.discard()


def _is_local(place: TableRef) -> bool:
    return scheme_of(place.location) == "file"

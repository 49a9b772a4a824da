"""One commit to the manifest: a compare-and-swap.

A commit is based on one version and may only become the very next: we put the file of that version where none is yet
(:mod:`.snapshots`). New rows go into the tip, a small fragment which is *replaced* by itself and them. Rows in larger
fragments are never rewritten, only marked as deleted, so a commit costs the same however large the catalog is.

Where the file of a version has something that we do not know, Lance commits for us. It lets commits pass each other
that touch different fragments, so every commit of ours touches one that everybody at the same version agrees on: the
tip, or, where no fragment is small, the newest, of which one row moves into a new tip. A manifest without any rows is
overwritten, which may only become the very next version, too. So any two commits, by either way and by either
implementation, exclude each other.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance.fragment import write_fragments
from lance_namespace import TableNotFoundError

from lancespace.authoring import require_conditions, translate
from lancespace_dir.manifest import data_files, plans, segments
from lancespace_dir.manifest.fragments import deletion_file, new_fragment
from lancespace_dir.manifest.plans import Conflict
from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA
from lancespace_dir.manifest.snapshots import Snapshot
from lancespace_dir.manifest.versions import unknown

if TYPE_CHECKING:
    from lancespace.authoring import Storage
    from lancespace_dir.manifest.plans import Plan
    from lancespace_dir.manifest.segments import Segment
    from lancespace_dir.manifest.versions import Identity, VersionFiles


class ManifestWriter:
    """Writes planned commits."""

    def __init__(self, storage: Storage, files: VersionFiles) -> None:
        self._storage = storage
        self._uri = storage.uri(DIRECTORY)
        self._files = files

    def begin(self) -> Any:
        """Create the table without rows: a version comes before all data files.

        Raises:
            Conflict: If another writer has created it.
        """
        require_conditions(self._storage)
        try:
            return lance.LanceDataset.commit(
                self._uri,
                lance.LanceOperation.Overwrite(SCHEMA, []),
                read_version=0,
                storage_options=self._storage.options,
                max_retries=0,
            )
        except OSError as error:
            if self._is_there():
                raise Conflict from error
            raise

    def write(self, made: Plan) -> list[tuple[Any, Segment]]:
        """Write the data files of a plan, which nobody sees yet: the fragments, and their rows in memory."""
        kept = 0 if made.kept is None else made.kept.num_rows
        tables = [*([made.kept] if made.kept is not None else []), *made.added]
        rows = pa.concat_tables(tables).combine_chunks()
        if not rows.num_rows:
            return []
        parts = [rows] if rows.num_rows <= plans.TIP_ROWS else _sealed(rows, kept)
        return [self._write_fragment(made, part) for part in parts]

    def publish(self, made: Plan, new: list[Any]) -> tuple[Snapshot | Any, Identity | None]:
        """Commit a plan, and return its version: the file, or the table where Lance committed it; and which file it is.

        Raises:
            Conflict: If what it is based on is no longer the latest version.
        """
        gone = list(made.merged) if made.tip is None or made.merged else [made.fragments[made.tip].id]
        changed = []
        for path, offsets in made.deleted.items():
            fragment = made.dataset.get_fragment(made.fragments[path].id)
            rest = fragment.delete_rows(sorted(offsets))
            if rest is None:
                gone.append(fragment.fragment_id)
            else:
                changed.append(rest)
        if made.snapshot is None:
            done = self._commit(made, _operation(made, gone, changed, new))
            identity = self._files.identity(done.version)
            self._files.confirm(done.version, identity, made.version, made.identity)
            return done, identity
        deletions = {fragment.id: deletion_file(fragment) for fragment in changed}
        new_fragments = [new_fragment(fragment) for fragment in new]
        return self._put(made, made.snapshot.successor(str(uuid.uuid4()), gone, deletions, new_fragments))

    def _put(self, made: Plan, data: bytes) -> tuple[Snapshot, Identity | None]:
        snapshot = Snapshot(data)
        try:
            return snapshot, self._files.put(snapshot.version, data, made.identity)
        except OSError as error:
            found = self._files.read(snapshot.version)
            if found is None and not isinstance(error, FileExistsError):
                raise
            if found is None or found.data != data:
                raise Conflict from error
        self._files.confirm(snapshot.version, found.identity, made.version, made.identity)
        return snapshot, found.identity

    def _commit(self, made: Plan, operation: Any) -> Any:
        transaction = lance.Transaction(made.version, operation)
        try:
            return lance.LanceDataset.commit(
                made.dataset,
                transaction,
                read_version=made.version,
                storage_options=self._storage.options,
                max_retries=0,
            )
        except OSError as error:
            return self._find_out(made, transaction, error)

    def _write_fragment(self, made: Plan, rows: pa.Table) -> tuple[Any, Segment]:
        if made.snapshot is not None and data_files.is_usual(made.snapshot, made.schema):
            written = data_files.write(self._storage, rows)
            return written, segments.whole(segments.path_of(written), rows)
        options = self._storage.options
        (fragment,) = write_fragments(rows, made.dataset, schema=rows.schema, mode="append", storage_options=options)
        return fragment, segments.whole(segments.path_of(fragment), rows)

    def _is_there(self) -> bool:
        return self._storage.exists(self._files.path)

    def _find_out(self, made: Plan, transaction: lance.Transaction, error: OSError) -> Any:
        """The commit failed, or only its answer was lost: the versions since then tell which."""
        if not self._is_there():
            raise error
        try:
            latest = lance.dataset(self._uri, storage_options=self._storage.options)
        except (ValueError, OSError) as failure:
            if isinstance(translate(failure, about="open the catalog's manifest"), TableNotFoundError):
                raise Conflict from error  # Somebody is about to make its first version.
            raise
        for version in range(made.version + 1, latest.version + 1):
            try:
                done = latest.read_transaction(version)
            except OSError as gone:  # A clean-up was faster.
                raise unknown() from gone
            if done is not None and done.uuid == transaction.uuid:
                return latest
        if latest.version > made.version:
            raise Conflict from error
        raise error


def _operation(made: Plan, gone: list[int], changed: list[Any], new: list[Any]) -> Any:
    if not made.fragments:
        return lance.LanceOperation.Overwrite(made.schema, new)
    return lance.LanceOperation.Update(removed_fragment_ids=gone, updated_fragments=changed, new_fragments=new)


def _sealed(rows: pa.Table, kept: int) -> list[pa.Table]:
    """Rows that are too many for a tip: those to seal, and a new tip, which must not be empty."""
    cut = kept if 0 < kept < rows.num_rows and rows.num_rows - kept <= plans.TIP_ROWS else rows.num_rows - 1
    return [rows.slice(0, cut), rows.slice(cut)]

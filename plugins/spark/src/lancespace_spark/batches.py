"""Numbered batches: an append that carries the number of its batch, so that a repeat changes nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace.errors import translate
from lancespace.jobs.creating import commit_first
from lancespace_spark.transactions import properties_of

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

    from lancespace.handles import TableHandle

STREAM = "lancespace.stream"
BATCH = "lancespace.batch"
"""Properties of the transaction that wrote a batch: by them a repeated batch is known again."""

_RETRIES = 20


@dataclass(frozen=True)
class NumberedBatches:
    """The batches of one stream into one table; a number is never written after a higher one."""

    handle: TableHandle
    schema: pa.Schema
    stream: str

    def commit(self, fragments: list[FragmentMetadata], batch: int) -> bool:
        """Make a batch visible; False if it was there already, and its files are not needed.

        Each try looks again: who was faster may have been its twin. Lance puts an append on top of whatever came
        between, its twin's, too: then this one is taken out again. Changes of a fragment that is there would not pass
        each other, but keep those who compact the table from their commits for as long as the stream goes on.

        Raises:
            InvalidTableStateError: If the stream has written a later batch, so that this one is of another stream, or
                if its twin's rows and its own cannot be told apart any more.
            ConcurrentModificationError: If others were faster too many times.
        """
        for _ in range(_RETRIES):
            latest = self.handle.latest()
            if latest is not None and self._has(latest, batch):
                return False
            try:
                done = self._try(latest, fragments, batch)
            except (OSError, ConcurrentModificationError) as error:
                failure = translate(error, about=f"write batch {batch} to table {self.handle.name!r}")
                if not isinstance(failure, ConcurrentModificationError):
                    raise failure from error
            else:
                between = range(done.version if latest is None else latest.version + 1, done.version)
                if any(self._number(done, version) == batch for version in between):
                    self._take_out(fragments, batch, done.version)
                return True
        raise ConcurrentModificationError(f"others committed {_RETRIES} times in a row while batch {batch} was written")

    def _try(self, latest: lance.LanceDataset | None, fragments: list[FragmentMetadata], batch: int) -> Any:
        import lance
        from lance.dataset import Transaction

        named = {STREAM: self.stream, BATCH: str(batch)}
        if latest is not None:
            append = lance.LanceOperation.Append(fragments)
            transaction = Transaction(latest.version, append, transaction_properties=named)
            return lance.LanceDataset.commit(latest, transaction, max_retries=0)
        overwrite = lance.LanceOperation.Overwrite(self.schema, fragments)
        return commit_first(self.handle.place(), Transaction(0, overwrite, transaction_properties=named))

    def _has(self, dataset: lance.LanceDataset, batch: int) -> bool:
        """Whether the latest batch of this stream in the table is that one."""
        for version in sorted((entry["version"] for entry in dataset.versions()), reverse=True):
            last = self._number(dataset, version)
            if last is not None:
                self._refuse_earlier(batch, last)
                return last == batch
        return False

    def _number(self, dataset: lance.LanceDataset, version: int) -> int | None:
        """The number of the batch of this stream that a version is; None if it is none."""
        named = properties_of(dataset, version)
        return int(named[BATCH]) if named.get(STREAM) == self.stream else None

    def _refuse_earlier(self, batch: int, last: int) -> None:
        """Spark repeats the latest batch and no other: an earlier number is of a stream that began anew."""
        if batch < last:
            raise InvalidTableStateError(
                f"the stream {self.stream!r} is to write batch {batch} to table {self.handle.name!r}, which has its "
                f"batch {last} already: if the stream has begun anew, give it another name (option 'stream_id')"
            )

    def _take_out(self, fragments: list[FragmentMetadata], batch: int, version: int) -> None:
        """Remove a batch that its twin had committed between our look and our commit."""
        import lance

        files = {file.path for fragment in fragments for file in fragment.files}
        for _ in range(_RETRIES):
            latest = self.handle.open()
            found = {one.fragment_id: {file.path for file in one.metadata.files} for one in latest.get_fragments()}
            own = [number for number, paths in found.items() if not files.isdisjoint(paths)]
            if not files <= set().union(*found.values()):
                break
            removal = lance.LanceOperation.Delete([], own, "a batch that another driver had committed")
            with suppress(OSError):  # Somebody else was faster: look again.
                lance.LanceDataset.commit(latest, removal, read_version=latest.version)
                return
        raise InvalidTableStateError(
            f"two drivers have written batch {batch} of the stream {self.stream!r} to table {self.handle.name!r}, and "
            f"its rows are there twice since version {version}, as others have changed them: delete one of each"
        )

"""Numbered batches: an append that carries the number of its batch, so that a repeat changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace_jobs import commit_first, commit_next
from lancespace_spark.transactions import properties_down

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

    from lancespace_jobs import TableSpec

STREAM = "lancespace.stream"
BATCH = "lancespace.batch"
"""Properties of the transaction that wrote a batch: by them a repeated batch is known again."""

_TRIES = 50


@dataclass(frozen=True)
class NumberedBatches:
    """The batches of one stream into one table; a number is never written after a higher one."""

    handle: TableSpec
    schema: pa.Schema
    stream: str

    def commit(self, fragments: list[FragmentMetadata], batch: int) -> bool:
        """Make a batch visible; False if it was there already, and its files are not needed.

        Each try looks again at what others have committed, since it may be this very batch, and commits right on top of
        what it has looked at.

        Raises:
            InvalidTableStateError: If the stream has written a later batch, so that this one is of another stream.
            ConcurrentModificationError: If others were faster too many times.
        """
        looked = 0
        for _ in range(_TRIES):
            latest = self.handle.latest()
            if latest is not None and self._has(latest, batch, looked):
                return False
            try:
                self._try(latest, fragments, batch)
            except ConcurrentModificationError:
                looked = 0 if latest is None else latest.version
                continue
            return True
        raise ConcurrentModificationError(f"others committed {_TRIES} times in a row while batch {batch} was written")

    def _try(self, latest: lance.LanceDataset | None, fragments: list[FragmentMetadata], batch: int) -> None:
        import lance
        from lance.dataset import Transaction

        named = {STREAM: self.stream, BATCH: str(batch)}
        if latest is not None:
            append = lance.LanceOperation.Append(fragments)
            commit_next(self.handle, Transaction(latest.version, append, transaction_properties=named))
            return
        overwrite = lance.LanceOperation.Overwrite(self.schema, fragments)
        commit_first(self.handle.place(), Transaction(0, overwrite, transaction_properties=named))

    def _has(self, dataset: lance.LanceDataset, batch: int, looked: int) -> bool:
        """Whether the latest batch of this stream, in the versions that were not looked at yet, is that one."""
        for named in properties_down(dataset, after=looked):
            if named.get(STREAM) == self.stream:
                last = int(named[BATCH])
                self._refuse_earlier(batch, last)
                return last == batch
        return False

    def _refuse_earlier(self, batch: int, last: int) -> None:
        """Spark repeats the latest batch and no other: an earlier number is of a stream that began anew."""
        if batch < last:
            raise InvalidTableStateError(
                f"the stream {self.stream!r} is to write batch {batch} to table {self.handle.name!r}, which has its "
                f"batch {last} already: if the stream has begun anew, give it another name (option 'stream_id')"
            )

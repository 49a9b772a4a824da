"""Numbered batches: an append that carries the number of its batch, so that a repeat changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError

from lancespace.errors import translate
from lancespace.jobs.stages import commit_first
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
        """Make a batch visible; False if it was there already.

        Each try looks again: who was faster may have been its twin.

        Raises:
            ConcurrentModificationError: If others were faster too many times.
        """
        for _ in range(_RETRIES):
            latest = self.handle.latest()
            if latest is not None and self._has(latest, batch):
                return False
            try:
                self._try(latest, fragments, batch)
            except OSError as error:
                failure = translate(error, about=f"write batch {batch} to table {self.handle.name!r}")
                if not isinstance(failure, ConcurrentModificationError):
                    raise failure from error
            else:
                return True
        raise ConcurrentModificationError(f"others committed {_RETRIES} times in a row while batch {batch} was written")

    def _try(self, latest: lance.LanceDataset | None, fragments: list[FragmentMetadata], batch: int) -> None:
        import lance
        from lance.dataset import Transaction

        named = {STREAM: self.stream, BATCH: str(batch)}
        if latest is not None:
            append = lance.LanceOperation.Append(fragments)
            transaction = Transaction(latest.version, append, transaction_properties=named)
            lance.LanceDataset.commit(latest, transaction, max_retries=0)
            return
        overwrite = lance.LanceOperation.Overwrite(self.schema, fragments)
        commit_first(self.handle.place(), Transaction(0, overwrite, transaction_properties=named))

    def _has(self, dataset: lance.LanceDataset, batch: int) -> bool:
        """Whether the latest batch of this stream in the table is that one or a later one."""
        for version in sorted((entry["version"] for entry in dataset.versions()), reverse=True):
            named = properties_of(dataset, version)
            if named.get(STREAM) == self.stream:
                return int(named[BATCH]) >= batch
        return False

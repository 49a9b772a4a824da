"""query_table: vector, full-text and hybrid search, and plain scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lancespace.authoring import OPERATIONS, hookimpl, translated
from lancespace_tables._access import OperationGroup, name_of
from lancespace_tables._hybrid import fuse
from lancespace_tables._scans import check_size, hybrid_scanners, is_hybrid, scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lance
    from lance_namespace import QueryTableRequest


class QueryOperations(OperationGroup):
    """query_table."""

    @hookimpl
    def query_table(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """The ``k`` best rows for a vector, a text or both, or the first ``k`` rows; as a stream.

        - The filter applies before a search, so that ``k`` rows are found if as many match; ``prefilter=False`` applies
          it to the ``k`` nearest instead.
        - Several vectors are several searches, each row telling by ``query_index`` which one found it.
        - A vector and a text are a hybrid search, see :mod:`lancespace_tables._hybrid`.
        """
        dataset = self.backend.open(request)
        limits = self.backend.query_limits()
        if limits is not None:
            limits.check_streamed(OPERATIONS["query_table"], request, dataset.schema)
        about = f"query table {name_of(request)!r}"
        with translated(about):
            if limits is not None:
                check_size(dataset, request, limits.result_bytes)
            if is_hybrid(request):
                return _hybrid(dataset, request).to_reader()
            reader = scanner(dataset, request).to_reader()
        if not request.k:
            return pa.RecordBatchReader.from_batches(reader.schema, [])
        return pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, about))


def _hybrid(dataset: lance.LanceDataset, request: QueryTableRequest) -> pa.Table:
    vector_hits, text_hits = (each.to_table() for each in hybrid_scanners(dataset, request).values())
    return fuse(vector_hits, text_hits, k=request.k, offset=request.offset or 0, with_row_id=bool(request.with_row_id))


def _batches(reader: pa.RecordBatchReader, about: str) -> Iterator[pa.RecordBatch]:
    """The batches, where an error in the middle of the stream is one of the spec's as well."""
    with translated(about):
        yield from reader

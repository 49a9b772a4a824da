"""Indexes: creating, listing, describing and dropping them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lance_namespace import (
    CreateTableIndexRequest,
    CreateTableIndexResponse,
    CreateTableScalarIndexResponse,
    DescribeTableIndexStatsRequest,
    DescribeTableIndexStatsResponse,
    DropTableIndexRequest,
    DropTableIndexResponse,
    InvalidInputError,
    ListTableIndicesRequest,
    ListTableIndicesResponse,
    TableIndexNotFoundError,
)
from lance_namespace_urllib3_client.models.index_content import IndexContent

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of, transaction_id
from lancespace.tables.indextypes import SCALAR_TYPES, VECTOR_TYPES, create_index, type_name
from lancespace.tables.paging import page

if TYPE_CHECKING:
    from typing import Any

    import lance


class IndexOperations(TableAccess):
    """create, list, stats and drop of indexes. An index is built before the answer, so its status is SUCCEEDED."""

    @hookimpl
    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        """Build a vector or scalar index; its default name is the column's with ``_idx``."""
        return CreateTableIndexResponse(transaction_id=self._create_index(request, VECTOR_TYPES | SCALAR_TYPES))

    @hookimpl
    def create_table_scalar_index(self, request: CreateTableIndexRequest) -> CreateTableScalarIndexResponse:
        """Build a scalar index."""
        return CreateTableScalarIndexResponse(transaction_id=self._create_index(request, SCALAR_TYPES))

    @hookimpl
    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        """The indexes by name, page by page."""
        dataset = self.open(request)
        with translated(f"list the indexes of table {name_of(request)!r}"):
            indexes = sorted(dataset.describe_indices(), key=lambda index: str(index.name))
            shown, token = page(indexes, lambda index: str(index.name), request.page_token, request.limit)
            rows = dataset.count_rows() if shown else 0
            return ListTableIndicesResponse(indexes=[_content(index, rows) for index in shown], page_token=token)

    @hookimpl
    def describe_table_index_stats(self, request: DescribeTableIndexStatsRequest) -> DescribeTableIndexStatsResponse:
        """How much of the table an index covers."""
        dataset = self.open(request)
        with translated(f"describe the index {request.index_name!r} of table {name_of(request)!r}"):
            index = _find(dataset, request.index_name, name_of(request))
            metric = index.details.get("metric_type")
            return DescribeTableIndexStatsResponse(
                distance_type=None if metric is None else metric.lower(),
                index_type=type_name(index.index_type),
                num_indexed_rows=index.num_rows_indexed,
                num_unindexed_rows=dataset.count_rows() - index.num_rows_indexed,
                num_indices=len(index.segments),
            )

    @hookimpl
    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        """Drop an index by name."""
        dataset = self.open(request)
        with translated(f"drop the index {request.index_name!r} of table {name_of(request)!r}"):
            _find(dataset, request.index_name, name_of(request))
            dataset.drop_index(request.index_name)
            return DropTableIndexResponse(transaction_id=transaction_id(dataset))

    def _create_index(self, request: CreateTableIndexRequest, allowed: frozenset[str]) -> str | None:
        kind = request.index_type.upper()
        if kind not in allowed:
            raise InvalidInputError(
                f"unknown index_type {request.index_type!r}; known are {', '.join(sorted(allowed))}"
            )
        dataset = self.open(request)
        with translated(f"create a {kind} index on {request.column!r} of table {name_of(request)!r}"):
            create_index(dataset, kind, request)
            return transaction_id(dataset)


def _find(dataset: lance.LanceDataset, name: str | None, table: str) -> Any:
    indexes = {index.name: index for index in dataset.describe_indices()}
    if name not in indexes:
        there = f"there are {', '.join(sorted(indexes))}" if indexes else "there is none"
        raise TableIndexNotFoundError(f"table {table!r} has no index {name!r}; {there}")
    return indexes[name]


def _content(index: Any, rows: int) -> IndexContent:
    newest = index.segments[-1]
    return IndexContent(
        index_name=index.name,
        index_uuid=newest.uuid,
        columns=index.field_names,
        status="SUCCEEDED",
        index_type=type_name(index.index_type),
        type_url=index.type_url,
        num_indexed_rows=index.num_rows_indexed,
        num_unindexed_rows=rows - index.num_rows_indexed,
        size_bytes=index.total_size_bytes,
        num_segments=len(index.segments),
        created_at=newest.created_at,
        index_version=newest.index_version,
        index_details=json.dumps(index.details, sort_keys=True),
    )

"""Indexes: their types, and creating, listing, describing and dropping them."""

from __future__ import annotations

import json
from typing import Any

import lance
import pyarrow as pa
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
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
)
from lance_namespace_urllib3_client.models.index_content import IndexContent

from lancespace.authoring import hookimpl, page
from lancespace_tables._access import OperationGroup, name_of, transaction_id
from lancespace_tables._fields import field_at

_IVF = ("num_partitions", "target_partition_size", "sample_rate", "max_iterations", "distance_type")
_HNSW = (*_IVF, "m", "ef_construction")
_TEXT = (
    "with_position",
    "base_tokenizer",
    "language",
    "max_token_length",
    "lower_case",
    "stem",
    "remove_stop_words",
    "ascii_folding",
)
_TEXT_TYPES = ("INVERTED", "FTS")

_OPTIONS: dict[str, tuple[str, ...]] = {
    "IVF_FLAT": _IVF,
    "IVF_SQ": (*_IVF, "num_bits"),
    "IVF_RQ": (*_IVF, "num_bits"),
    "IVF_PQ": (*_IVF, "num_bits", "num_sub_vectors"),
    "IVF_HNSW_FLAT": _HNSW,
    "IVF_HNSW_SQ": (*_HNSW, "num_bits"),
    "IVF_HNSW_PQ": (*_HNSW, "num_bits", "num_sub_vectors"),
    **dict.fromkeys(("BTREE", "BITMAP", "LABEL_LIST", "NGRAM", "ZONEMAP", "BLOOMFILTER", "RTREE", "MINHASHLSH"), ()),
    **dict.fromkeys(_TEXT_TYPES, _TEXT),
}
"""Index types by the name they are asked for, and the request's options that they take."""

VECTOR_TYPES = frozenset(kind for kind in _OPTIONS if kind.startswith("IVF_"))
SCALAR_TYPES = frozenset(_OPTIONS) - VECTOR_TYPES

_ALL_OPTIONS = frozenset(option for options in _OPTIONS.values() for option in options)
_PYLANCE_NAMES = {"distance_type": "metric", "max_iterations": "max_iters"}
_DISTANCES = ("l2", "cosine", "dot", "hamming")


def create_index(dataset: lance.LanceDataset, kind: str, request: CreateTableIndexRequest) -> None:
    """Build the index of a request.

    Raises:
        TableIndexAlreadyExistsError: The name is taken.
        TableColumnNotFoundError: There is no such column.
        InvalidInputError: An option does not apply to this type, or the column is of the wrong type.
    """
    name, options = index_options(dataset, kind, request)
    create = dataset.create_index if kind in VECTOR_TYPES else dataset.create_scalar_index
    create(request.column, kind, name=name, replace=False, **options)


def index_options(
    dataset: lance.LanceDataset, kind: str, request: CreateTableIndexRequest
) -> tuple[str, dict[str, Any]]:
    """The name and the options of an index, in pylance's words, checked before the work of building; see above."""
    options = _options(kind, request)
    name = _free_name(dataset, request)
    if kind in _TEXT_TYPES:  # Their paths may lead through lists, which pylance alone resolves.
        return name, options
    field = field_at(dataset, request.column)
    if "num_sub_vectors" in _OPTIONS[kind]:
        options.setdefault("num_sub_vectors", _sub_vectors(_dimension(field.type)))
    if "ef_construction" in options:  # Lance takes memory for that number of rows.
        options["ef_construction"] = min(options["ef_construction"], max(dataset.count_rows(), 1))
    return name, options


def type_name(reported: str) -> str:
    """The name to ask for an index type by, from the one that pylance reports (``LabelList``)."""
    return "LABEL_LIST" if reported == "LabelList" else reported.upper()


def _options(kind: str, request: CreateTableIndexRequest) -> dict[str, Any]:
    given = {option: value for option in _ALL_OPTIONS if (value := getattr(request, option)) is not None}
    foreign = sorted(given.keys() - set(_OPTIONS[kind]))
    if foreign:
        raise InvalidInputError(f"a {kind} index takes no {', '.join(foreign)}")
    distance = given.get("distance_type")
    if distance is not None and distance.lower() not in _DISTANCES:
        raise InvalidInputError(f"distance_type must be one of {', '.join(_DISTANCES)}, not {distance!r}")
    return {_PYLANCE_NAMES.get(option, option): value for option, value in given.items()}


def _free_name(dataset: lance.LanceDataset, request: CreateTableIndexRequest) -> str:
    """The index's name, refused before the work of building if it is taken."""
    name = request.name or f"{request.column}_idx"
    if name in {index.name for index in dataset.describe_indices()}:
        raise TableIndexAlreadyExistsError(f"index {name!r} already exists: drop it or choose another name")
    return name


def _dimension(kind: pa.DataType) -> int:
    """The length of the vectors of a column; 0 if it has none, which pylance then refuses by name."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_list(kind):
        kind = kind.value_type
    return int(kind.list_size) if pa.types.is_fixed_size_list(kind) else 0


def _sub_vectors(dimension: int) -> int:
    """As many sub-vectors as give 16 dimensions to each, or 8, or else a single one."""
    return next((dimension // size for size in (16, 8) if dimension and dimension % size == 0), 1)


class IndexOperations(OperationGroup):
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
        with self.opened(request, "list the indexes of") as dataset:
            indexes = sorted(dataset.describe_indices(), key=lambda index: str(index.name))
            shown, token = page(indexes, lambda index: str(index.name), request.page_token, request.limit)
            rows = dataset.count_rows() if shown else 0
            return ListTableIndicesResponse(indexes=[_content(index, rows) for index in shown], page_token=token)

    @hookimpl
    def describe_table_index_stats(self, request: DescribeTableIndexStatsRequest) -> DescribeTableIndexStatsResponse:
        """How much of the table an index covers."""
        with self.opened(request, f"describe the index {request.index_name!r} of") as dataset:
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
        with self.opened(request, f"drop the index {request.index_name!r} of") as dataset:
            _find(dataset, request.index_name, name_of(request))
            dataset.drop_index(request.index_name)
            return DropTableIndexResponse(transaction_id=transaction_id(dataset))

    def _create_index(self, request: CreateTableIndexRequest, allowed: frozenset[str]) -> str | None:
        kind = request.index_type.upper()
        if kind not in allowed:
            raise InvalidInputError(
                f"unknown index_type {request.index_type!r}; known are {', '.join(sorted(allowed))}"
            )
        with self.opened(request, f"create a {kind} index on {request.column!r} of") as dataset:
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

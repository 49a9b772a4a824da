"""The types of indexes, and which options of a request each one takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import InvalidInputError, TableIndexAlreadyExistsError

from lancespace.tables.fields import field_at

if TYPE_CHECKING:
    import lance
    from lance_namespace import CreateTableIndexRequest

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
    name, options = settled(dataset, kind, request)
    create = dataset.create_index if kind in VECTOR_TYPES else dataset.create_scalar_index
    create(request.column, kind, name=name, replace=False, **options)


def settled(dataset: lance.LanceDataset, kind: str, request: CreateTableIndexRequest) -> tuple[str, dict[str, Any]]:
    """The name and the options of an index, in pylance's words, checked before the work of building; see above."""
    options = _options(kind, request)
    name = _free_name(dataset, request)
    if kind in _TEXT_TYPES:  # Their paths may lead through lists, which pylance alone resolves.
        return name, options
    field = field_at(dataset, request.column)
    if "num_sub_vectors" in _OPTIONS[kind]:
        options.setdefault("num_sub_vectors", _sub_vectors(_dimension(field.type)))
    if "ef_construction" in options:  # Lance takes memory for so many rows.
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

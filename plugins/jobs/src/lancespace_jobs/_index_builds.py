"""Building an index in pieces: a segment for each group of fragments, then one commit."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import lance
import pyarrow as pa
from lance.dataset import Index, IndexFile
from lance.indices import IndicesBuilder
from lance_namespace import CreateTableIndexRequest, InvalidInputError

from lancespace import Namespace
from lancespace.authoring import Identifier, Job, Work, fingerprint, public, translated
from lancespace_jobs._submitted import SubmittedJob, submit
from lancespace_jobs._table_spec import TableSpec
from lancespace_tables import SCALAR_TYPES, VECTOR_TYPES, create_index, in_rounds, index_options

SEGMENT_ROWS = 1 << 20
"""How many rows a segment covers, if its fragments allow: a search looks into every segment."""


@dataclass(frozen=True)
class _Segment:
    """The fragments that one segment of the index covers."""

    table: TableSpec
    version: int
    column: str
    kind: str
    name: str
    fragments: tuple[int, ...]
    options: Mapping[str, Any] = field(repr=False)
    files: str = ""
    """A digest of what the table consists of: another one of the same name has versions of the same numbers."""


@public
def build_index(
    namespace: Namespace,
    table: Identifier,
    column: str,
    index_type: str,
    *,
    segment_rows: int = SEGMENT_ROWS,
    **options: Any,
) -> SubmittedJob:
    """Build an index of any type; the options are those of ``create_table_index``.

    Segments are built side by side and become visible together, in one commit. Rows that are appended meanwhile are
    not in the index, as always; ``maintain`` takes them in.

    Raises:
        InvalidInputError: If the type or an option is unknown.
        TableIndexAlreadyExistsError: If the name is taken.
    """
    handle = TableSpec.of(namespace, table)
    kind = index_type.upper()
    if kind not in VECTOR_TYPES | SCALAR_TYPES:
        known = ", ".join(sorted(VECTOR_TYPES | SCALAR_TYPES))
        raise InvalidInputError(f"unknown index_type {index_type!r}; known are {known}")
    request = CreateTableIndexRequest(id=list(handle.id), column=column, index_type=kind, **options)
    dataset = handle.open()
    name, chosen = index_options(dataset, kind, request)
    plan = _Segment(handle, dataset.version, column, kind, name, (), chosen)
    mark = fingerprint("index", namespace.namespace_id(), handle.id, column, kind, name, chosen, segment_rows)
    return submit(namespace, Job("index", handle.name, lambda work: _run(plan, request, segment_rows, work), mark))


def train_models(task: _Segment) -> dict[str, Any]:
    """The options of a vector index, with what all its segments share; runs wherever the engine computes."""
    with translated(f"train the index {task.name!r} of table {task.table.name!r}"):
        return _trained(task.table.open(task.version), task.column, task.kind, task.options)


def build_segment(task: _Segment) -> dict[str, Any]:
    """Build one segment; runs wherever the engine computes."""
    with translated(f"build the index {task.name!r} of table {task.table.name!r}"):
        dataset = task.table.open(task.version)
        built = dataset.create_index_uncommitted(
            task.column,
            task.kind,
            name=task.name,
            fragment_ids=list(task.fragments),
            **_with_arrays(task.options),
        )
    return _segment_to_json(built)


def _run(plan: _Segment, request: CreateTableIndexRequest, segment_rows: int, work: Work) -> None:
    def attempt() -> None:
        dataset = plan.table.open()
        if dataset.get_fragments():
            _round(plan, dataset, segment_rows, work)
            return
        with translated(f"build the index {plan.name!r} of table {plan.table.name!r}"):
            create_index(dataset, plan.kind, request)  # No rows are no segments; the operation knows what to do.

    in_rounds(f"table {plan.table.name!r}", work, attempt)


def _round(plan: _Segment, dataset: lance.LanceDataset, segment_rows: int, work: Work) -> None:
    files = [file.path for fragment in dataset.get_fragments() for file in fragment.metadata.files]
    plan = replace(plan, version=dataset.version, files=fingerprint(files))
    if plan.kind in VECTOR_TYPES:
        work.report(0.0, f"training the index {plan.name!r}")
        plan = replace(plan, options=next(work.map(train_models, [plan], key=_key))[1])
    tasks = [replace(plan, fragments=fragments) for fragments in _groups(dataset, segment_rows)]
    work.report(0.0, f"building {len(tasks)} segments of the index {plan.name!r}")
    is_there = functools.partial(_is_there, plan.table)
    built = [result for _, result in work.map(build_segment, tasks, key=_key, is_there=is_there)]
    with translated(f"commit the index {plan.name!r} of table {plan.table.name!r}"):
        dataset.commit_existing_index_segments(plan.name, plan.column, [_segment_from_json(one) for one in built])


def _key(task: _Segment) -> str:
    """Segments with other models, or of fragments that were changed meanwhile, do not go together."""
    return fingerprint(task.version, task.files, task.fragments, dict(task.options))


def _is_there(table: TableSpec, segment: dict[str, Any]) -> bool:
    files = [f"_indices/{segment['uuid']}/{path}" for path, _ in segment["files"] or []]
    return bool(files) and table.place().has_files(files)


def _groups(dataset: lance.LanceDataset, segment_rows: int) -> Iterator[tuple[int, ...]]:
    """Groups of fragments with about ``segment_rows`` rows each."""
    group: list[int] = []
    rows = 0
    for fragment in dataset.get_fragments():
        group.append(fragment.fragment_id)
        rows += fragment.count_rows()
        if rows >= segment_rows:
            yield tuple(group)
            group, rows = [], 0
    if group:
        yield tuple(group)


ARRAYS = ("ivf_centroids", "pq_codebook")
_SAMPLES = 256
"""How many rows pylance samples for each partition, and for each entry of a codebook."""
_PARTITION_ROWS = 8192
"""How many rows a partition has, unless the request says how many there are."""


def _trained(dataset: lance.LanceDataset, column: str, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an index with its models in them: JSON values, as a checkpoint may keep them."""
    given = dict(options)
    rows = dataset.count_rows()
    distance = given.pop("metric", "l2").lower()
    sampled = min(given.pop("sample_rate", _SAMPLES), max(1, rows // 256))
    partitions = given.pop("num_partitions", None)
    per_partition = given.pop("target_partition_size", None) or _PARTITION_ROWS
    partitions = partitions or max(1, rows // per_partition)
    builder = IndicesBuilder(dataset, column)
    settings = {"sample_rate": sampled, "max_iters": given.pop("max_iters", 50)}
    ivf = builder.train_ivf(partitions, distance_type=distance, **settings)
    trained = {"ivf_centroids": ivf.centroids}
    if kind.endswith("PQ"):
        bits = given.get("num_bits", 8)
        pq = builder.train_pq(ivf, given["num_sub_vectors"], num_bits=bits, **settings)
        trained["pq_codebook"] = pq.codebook
    return {**given, "metric": distance, "num_partitions": partitions, **{k: _packed(v) for k, v in trained.items()}}


def _with_arrays(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as pylance takes them."""
    return {name: _unpacked(value) if name in ARRAYS else value for name, value in options.items()}


def _packed(array: pa.Array) -> str:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], names=["model"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pa.Array:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()["model"].combine_chunks()


def _segment_to_json(segment: Index) -> dict[str, Any]:
    """A segment that was built and is not committed yet."""
    details = segment.index_details
    return {
        "uuid": segment.uuid,
        "name": segment.name,
        "fields": list(segment.fields),
        "dataset_version": segment.dataset_version,
        "fragment_ids": sorted(segment.fragment_ids),
        "index_version": segment.index_version,
        "created_at": None if segment.created_at is None else segment.created_at.isoformat(),
        "base_id": segment.base_id,
        "files": None if segment.files is None else [[file.path, file.size_bytes] for file in segment.files],
        "index_details": None if details is None else [details[0], base64.b64encode(details[1]).decode()],
        "covering_fields": list(segment.covering_fields),
    }


def _segment_from_json(kept: dict[str, Any]) -> Index:
    """The segment again."""
    created, files, details = kept["created_at"], kept["files"], kept["index_details"]
    return Index(
        **kept
        | {
            "fragment_ids": set(kept["fragment_ids"]),
            "created_at": None if created is None else datetime.fromisoformat(created),
            "files": None if files is None else [IndexFile(path, size) for path, size in files],
            "index_details": None if details is None else (details[0], base64.b64decode(details[1])),
        }
    )

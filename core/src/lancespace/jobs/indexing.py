"""Building an index in pieces: a segment for each group of fragments, then one commit."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableIndexRequest, InvalidInputError

from lancespace.engines import Job, fingerprint
from lancespace.errors import public, translated
from lancespace.handles import TableHandle
from lancespace.jobs import models, segments
from lancespace.jobs.rounds import in_rounds
from lancespace.jobs.submitted import SubmittedJob, submit
from lancespace.tables.indextypes import SCALAR_TYPES, VECTOR_TYPES, create_index, settled
from lancespace.tables.presence import are_there

if TYPE_CHECKING:
    import lance

    from lancespace.engines import Work
    from lancespace.identifiers import Identifier
    from lancespace.namespace import Namespace

SEGMENT_ROWS = 1 << 20
"""How many rows a segment covers, if its fragments allow: a search looks into every segment."""


@dataclass(frozen=True)
class _Segment:
    """The fragments that one segment of the index covers."""

    table: TableHandle
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
    handle = TableHandle.of(namespace, table)
    kind = index_type.upper()
    if kind not in VECTOR_TYPES | SCALAR_TYPES:
        known = ", ".join(sorted(VECTOR_TYPES | SCALAR_TYPES))
        raise InvalidInputError(f"unknown index_type {index_type!r}; known are {known}")
    request = CreateTableIndexRequest(id=list(handle.id), column=column, index_type=kind, **options)
    dataset = handle.open()
    name, chosen = settled(dataset, kind, request)
    plan = _Segment(handle, dataset.version, column, kind, name, (), chosen)
    mark = fingerprint("index", namespace.namespace_id(), handle.id, column, kind, name, chosen, segment_rows)
    return submit(namespace, Job("index", handle.name, lambda work: _run(plan, request, segment_rows, work), mark))


def train_models(task: _Segment) -> dict[str, Any]:
    """The options of a vector index, with what all its segments share; runs wherever the engine computes."""
    with translated(f"train the index {task.name!r} of table {task.table.name!r}"):
        return models.train(task.table.open(task.version), task.column, task.kind, task.options)


def build_segment(task: _Segment) -> dict[str, Any]:
    """Build one segment; runs wherever the engine computes."""
    with translated(f"build the index {task.name!r} of table {task.table.name!r}"):
        dataset = task.table.open(task.version)
        built = dataset.create_index_uncommitted(
            task.column,
            task.kind,
            name=task.name,
            fragment_ids=list(task.fragments),
            **models.unpack(task.options),
        )
    return segments.to_json(built)


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
        dataset.commit_existing_index_segments(plan.name, plan.column, [segments.from_json(one) for one in built])


def _key(task: _Segment) -> str:
    """Segments with other models, or of fragments that were changed meanwhile, do not go together."""
    return fingerprint(task.version, task.files, task.fragments, dict(task.options))


def _is_there(table: TableHandle, segment: dict[str, Any]) -> bool:
    place = table.place()
    files = [f"_indices/{segment['uuid']}/{path}" for path, _ in segment["files"] or []]
    return bool(files) and are_there(place.location, place.storage_options, files)


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

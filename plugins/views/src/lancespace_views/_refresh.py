"""Bringing a view up to date, as a job: plan on the driver, compute wherever the engine does, commit once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lance
from lance.fragment import FragmentMetadata
from lance_namespace import InvalidInputError, RefreshMaterializedViewRequest, UnsupportedOperationError

from lancespace.authoring import Work, fingerprint, identifiers, translated
from lancespace_tables import TableLocation, View, data_files, in_rounds
from lancespace_views._definition import CHUNKER, Definition
from lancespace_views._queries import Source
from lancespace_views._state import State, commit, file_of, read_state
from lancespace_views._tasks import Task, Unit, compute, cut, divide

ROWS_PER_FILE = 1024 * 1024
_POSITIVE = ("max_rows_per_fragment", "concurrency", "source_task_size", "output_limit")


@dataclass(frozen=True)
class Options:
    """What a request may say about one refresh."""

    concurrency: int | None = None
    rows_per_file: int = ROWS_PER_FILE
    batch_rows: int | None = None
    output_limit: int | None = None
    is_exact: bool = False
    """Whether the caller chose the version of the source, so that a later one will not do."""

    @classmethod
    def of(cls, view: View, request: RefreshMaterializedViewRequest) -> Options:
        """The options of a request.

        Raises:
            InvalidInputError: One has a wrong value, or does not go with the view.
        """
        for name in _POSITIVE:
            value = getattr(request, name)
            if value is not None and value < 1:
                raise InvalidInputError(f"refresh_materialized_view: {name} must be at least 1, not {value}.")
        for name in ("cluster", "manifest"):
            if getattr(request, name) is not None:
                raise UnsupportedOperationError(
                    f"refresh_materialized_view: there is no {name} to choose, the engine of the connection does the "
                    "work."
                )
        if request.output_limit is not None and view.kind != CHUNKER:
            raise InvalidInputError(f"output_limit is for views of kind {CHUNKER!r}, and this one is a {view.kind!r}.")
        if request.src_version is not None and len(view.sources) > 1:
            shown = ", ".join(identifiers.show(source) for source in view.sources)
            raise InvalidInputError(f"src_version is for a view of one table, and this one is made from {shown}.")
        return cls(
            concurrency=request.concurrency,
            rows_per_file=request.max_rows_per_fragment or ROWS_PER_FILE,
            batch_rows=request.source_task_size,
            output_limit=request.output_limit,
            is_exact=request.src_version is not None,
        )


@dataclass
class Refresh:
    """One refresh of one view, from sources that are pinned."""

    ref: TableLocation
    definition: Definition
    sources: tuple[Source, ...]
    options: Options
    based_on: int
    """The version of the view when the sources were pinned."""
    _made: dict[str, list[Any]] = field(default_factory=dict)
    """The fragments that were written so far, by unit; they are good for every attempt."""

    def fingerprint(self) -> str:
        """Equal for a repeat, which can go on with what this one has written."""
        pinned = [[source.table.location, source.version] for source in self.sources]
        limits = [self.based_on, self.options.rows_per_file, self.options.output_limit]
        return fingerprint("refresh", self.ref.location, self.definition.text, pinned, limits)

    def run(self, work: Work) -> bool:
        """Bring the view up to date, and say whether it was not.

        Raises:
            ConcurrentModificationError: If others changed it again and again.
        """
        work.report(0.0, "planning")
        with translated(f"refresh the view {self.ref.name!r}"):
            units = divide(self._task())
            return in_rounds(f"The view {self.ref.name!r}", work, lambda: self._attempt(work, units))

    def _attempt(self, work: Work, units: Sequence[Unit]) -> bool:
        """Compute what the view does not have yet and commit; False if there is nothing to do."""
        view = self.ref.open()
        state = read_state(view)
        if state is not None and self._is_covered_by(state, units):
            return False
        known = {} if state is None else state.units
        self._compute(work, [unit for unit in units if unit.key not in known])
        chosen = self._chosen(work, units, _fragments(view, known))
        files = {key: tuple(map(file_of, fragments)) for key, fragments in chosen.items()}
        kept = {file for each in known.values() for file in each}
        added = [each for fragments in chosen.values() for each in fragments if file_of(each) not in kept]
        work.report(1.0, "committing", sum(fragment.physical_rows for fragment in added))
        commit(self.ref, view, State(self._versions(), files, self.options.output_limit), added)
        return True

    def _compute(self, work: Work, units: Sequence[Unit]) -> None:
        """Make those units that were not made in an earlier attempt."""
        missing = {unit.key: unit for unit in units if unit.key not in self._made}
        owners = {task.key: unit.key for unit in missing.values() for task in unit.tasks}
        made: dict[str, list[Any]] = {key: [] for key in missing}
        tasks = [task for unit in missing.values() for task in unit.tasks]
        mapped = work.map(compute, tasks, key=_key, is_there=self._is_there, concurrency=self.options.concurrency)
        for task, result in mapped:
            made[owners[task.key]] += [FragmentMetadata.from_json(json.dumps(each)) for each in result["fragments"]]
        self._made.update(made)

    def _is_there(self, result: dict[str, Any]) -> bool:
        """Whether the files that an earlier run wrote are still there."""
        return self.ref.has_files(data_files(result["fragments"]))

    def _chosen(self, work: Work, units: Sequence[Unit], present: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """The fragments that the view is to have, by unit; with a limit, those of its first rows."""
        chosen: dict[str, list[Any]] = {}
        left = self.options.output_limit
        for unit in units:
            fragments = present.get(unit.key, self._made.get(unit.key, []))
            rows = sum(fragment.physical_rows for fragment in fragments)
            if left is None or rows <= left:
                chosen[unit.key] = fragments
            elif left > 0:
                part = cut(unit, left)
                if part.key not in present:
                    self._compute(work, [part])
                chosen[part.key] = present.get(part.key, self._made.get(part.key, []))
            left = None if left is None else max(0, left - rows)
        return chosen

    def _is_covered_by(self, state: State, units: Sequence[Unit]) -> bool:
        """Whether the view is at these sources already, or at later ones, as another refresh was faster."""
        versions = self._versions()
        if state.limit != self.options.output_limit:
            return False
        if state.sources == versions and {unit.key for unit in units} == state.units.keys():
            return True
        is_later = state.found_at > self.based_on and state.sources.keys() == versions.keys()
        return is_later and not self.options.is_exact and all(state.sources[key] >= versions[key] for key in versions)

    def _versions(self) -> dict[str, int]:
        return {identifiers.join(source.names): source.version for source in self.sources}

    def _task(self) -> Task:
        ref, options = self.ref, self.options
        view = replace(ref, versions=None)
        return Task("", self.definition, self.sources, view, options.rows_per_file, batch_rows=options.batch_rows)


def _key(task: Task) -> str:
    return task.key


def _fragments(view: lance.LanceDataset, units: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    """The fragments of a view by unit."""
    present = {file_of(fragment.metadata): fragment.metadata for fragment in view.get_fragments()}
    return {key: [present[file] for file in files] for key, files in units.items()}

"""Bringing a view up to date, as a job: plan on the driver, compute wherever the engine does, commit once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lance.fragment import FragmentMetadata
from lance_namespace import ConcurrentModificationError

from lancespace import identifiers
from lancespace.engines import fingerprint
from lancespace.errors import translated
from lancespace.tables.presence import are_there, data_files
from lancespace.views.commits import commit
from lancespace.views.state import State, file_of, read_state
from lancespace.views.tasks import Target, Task, compute
from lancespace.views.units import Unit, cut, divide

if TYPE_CHECKING:
    import lance

    from lancespace.engines import Work
    from lancespace.tables.access import TableRef
    from lancespace.views.definition import Definition
    from lancespace.views.sources import Source

ROWS_PER_FILE = 1024 * 1024

_ATTEMPTS = 10
"""How often others may change the view while it is refreshed."""


@dataclass(frozen=True)
class Options:
    """What a request may say about one refresh."""

    concurrency: int | None = None
    rows_per_file: int = ROWS_PER_FILE
    batch_rows: int | None = None
    output_limit: int | None = None
    is_exact: bool = False
    """Whether the caller chose the version of the source, so that a later one will not do."""


@dataclass
class Refresh:
    """One refresh of one view, from sources that are pinned."""

    ref: TableRef
    definition: Definition
    sources: tuple[Source, ...]
    options: Options
    based_on: int
    """The version of the view when the sources were pinned."""
    _made: dict[str, list[Any]] = field(default_factory=dict)
    """The fragments that were written so far, by unit; they are good for every attempt."""

    def fingerprint(self) -> str:
        """Equal for a repeat, which can go on with what this one has written."""
        pinned = [[source.location, source.version] for source in self.sources]
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
            for _ in range(_ATTEMPTS):
                view = self.ref.open()
                state = read_state(view)
                if state is not None and self._is_covered_by(state, units):
                    return False
                if self._attempt(work, units, view, {} if state is None else state.units):
                    return True
        raise ConcurrentModificationError(
            f"The view {self.ref.name!r} was changed by others {_ATTEMPTS} times while it was refreshed: "
            "refresh it again."
        )

    def _attempt(
        self, work: Work, units: Sequence[Unit], view: lance.LanceDataset, known: Mapping[str, tuple[str, ...]]
    ) -> bool:
        """Compute what the view does not have yet and commit; False if somebody else was faster."""
        self._compute(work, [unit for unit in units if unit.key not in known])
        chosen = self._chosen(work, units, _fragments(view, known))
        files = {key: tuple(map(file_of, fragments)) for key, fragments in chosen.items()}
        kept = {file for each in known.values() for file in each}
        added = [each for fragments in chosen.values() for each in fragments if file_of(each) not in kept]
        work.report(1.0, "committing", sum(fragment.physical_rows for fragment in added))
        return commit(self.ref, view, State(self._versions(), files, self.options.output_limit), added)

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
        return are_there(self.ref.location, self.ref.storage_options, data_files(result["fragments"]))

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
        """Whether the view is at these sources already, or somebody went further since they were pinned."""
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
        target = Target(ref.name, ref.location, ref.storage_options, options.rows_per_file)
        return Task("", self.definition, self.sources, target, batch_rows=options.batch_rows)


def _key(task: Task) -> str:
    return task.key


def _fragments(view: lance.LanceDataset, units: Mapping[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    """The fragments of a view by unit."""
    present = {file_of(fragment.metadata): fragment.metadata for fragment in view.get_fragments()}
    return {key: [present[file] for file in files] for key, files in units.items()}

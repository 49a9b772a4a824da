"""Filling computed and virtual columns: a task for each fragment, then a commit of new column files.

A task reads a fragment and writes a file with the new values of the column beside its other files; nothing refers to
that file yet. The commit makes the fragments refer to them. Lance lets it pass concurrent appends, and refuses it if
somebody has changed one of the fragments; then the changed ones are computed again, and only those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import lance
from lance_namespace import ConcurrentModificationError, InvalidInputError

from lancespace.engines import fingerprint
from lancespace.errors import translated
from lancespace.tables.columnfiles import field_ids, offsets_of, write_values
from lancespace.tables.presence import are_there, data_files
from lancespace.tables.recipes import Recipe, Scan, recipe_for

if TYPE_CHECKING:
    from lancespace.engines import Work
    from lancespace.tables.access import TableRef

_ROUNDS = 20
"""How often the commit is tried again after others have changed what it is about."""


@dataclass(frozen=True)
class Plan:
    """What to fill, and how."""

    table: TableRef
    branch: str | None
    recipe: Recipe
    where: str | None = None
    read_version: int | None = None
    """Only the fragments of this version."""
    num_frags: int | None = None
    """At most this number of fragments."""
    concurrency: int | None = None
    task_size: int | None = None
    """Rows that a function is given at once."""
    commit_granularity: int | None = None
    """Fragments in a commit; by default, all are in one."""

    def fingerprint(self) -> str:
        """Equal for whatever computes the same values in a fragment."""
        return fingerprint(
            "backfill", self.table.location, self.branch, self.recipe.columns, self.recipe.identity(), self.where
        )


@dataclass(frozen=True)
class FragmentTask:
    """One fragment, as it is in one version."""

    plan: Plan
    version: int
    fragment_id: int
    rows: int
    base: str
    """Changes whenever somebody changes what the values are made from; the key of the task."""


def fill_fragment(task: FragmentTask) -> dict[str, Any]:
    """Compute the new values of a fragment and write them; runs wherever the engine computes."""
    plan = task.plan
    with translated(f"backfill {', '.join(plan.recipe.columns)} of table {plan.table.name!r}"):
        dataset = plan.table.open(task.version, plan.branch)
        fragment = dataset.get_fragment(task.fragment_id)
        scan = Scan(fragment, plan.where, plan.task_size)
        values = plan.recipe.values(scan, dataset.schema)
        return write_values(dataset, fragment, plan.recipe.columns, values)


class Backfill:
    """The driver of a backfill."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rows = 0

    def run(self, work: Work) -> None:
        """Fill, and commit; what others change meanwhile is filled again."""
        for _ in range(_ROUNDS):
            try:
                self._round(work)
            except ConcurrentModificationError:
                work.report(0.0, "others have changed the table: going on with what they changed")
            else:
                return
        raise ConcurrentModificationError(
            f"table {self._plan.table.name!r} was changed by others {_ROUNDS} times before the new values could be "
            "committed: send the request again when there is less going on, it goes on from what was finished"
        )

    def _round(self, work: Work) -> None:
        dataset = self._plan.table.open(branch=self._plan.branch)
        self._check(dataset)
        tasks = list(self._tasks(dataset))
        self._rows = 0
        size = max(1, self._plan.commit_granularity or len(tasks))
        results = self._results(work, tasks)
        while group := list(islice(results, size)):
            dataset = self._commit(dataset, group)

    def _check(self, dataset: lance.LanceDataset) -> None:
        column = self._plan.recipe.columns[0]
        if recipe_for(dataset, f"`{column}`") != self._plan.recipe:
            raise InvalidInputError(
                f"how column {column!r} of table {self._plan.table.name!r} is computed was changed meanwhile: "
                "send the request again"
            )

    def _tasks(self, dataset: lance.LanceDataset) -> Iterator[FragmentTask]:
        """A task for each fragment of the latest version; inputs are read there too."""
        shipped = replace(self._plan, table=replace(self._plan.table, versions=None))
        wanted = self._wanted(dataset)
        chosen = (one.metadata for one in dataset.get_fragments() if wanted(one.fragment_id))
        for metadata in islice(chosen, self._plan.num_frags):
            yield FragmentTask(shipped, dataset.version, metadata.id, metadata.num_rows, self._base(dataset, metadata))

    def _base(self, dataset: lance.LanceDataset, metadata: Any) -> str:
        """A digest of a fragment as far as the new values depend on it.

        What is in the target columns does not matter if all of it is replaced: an interrupted run that has committed a
        fragment already finds its result again. How Lance tracks rows and versions never matters.
        """
        kept = metadata.to_json()
        ignored = set() if self._plan.where else set(field_ids(dataset.lance_schema, self._plan.recipe.columns))
        files = {one["path"]: [number for number in one["fields"] if number >= 0] for one in kept["files"]}
        inputs = {path: sorted(set(numbers) - ignored) for path, numbers in files.items() if set(numbers) - ignored}
        return fingerprint(kept["id"], inputs, kept["deletion_file"], kept["physical_rows"], str(kept["overlays"]))

    def _wanted(self, dataset: lance.LanceDataset) -> Callable[[int], bool]:
        plan = self._plan
        if plan.read_version is None:
            return lambda _: True
        old = {one.fragment_id for one in plan.table.open(plan.read_version, plan.branch).get_fragments()}
        gone = old - {one.fragment_id for one in dataset.get_fragments()}
        if gone:
            raise InvalidInputError(
                f"fragments {', '.join(map(str, sorted(gone)))} of version {plan.read_version} of table "
                f"{plan.table.name!r} were compacted or deleted since: leave out 'read_version'"
            )
        return old.__contains__

    def _results(self, work: Work, tasks: Sequence[FragmentTask]) -> Iterator[tuple[FragmentTask, dict[str, Any]]]:
        total = sum(task.rows for task in tasks) or 1
        message = f"filling {', '.join(self._plan.recipe.columns)} in {len(tasks)} fragments"
        work.report(0.0, message, 0)
        seen = 0
        mapped = work.map(
            fill_fragment,
            tasks,
            key=lambda task: task.base,
            is_there=self._is_there,
            concurrency=self._plan.concurrency,
        )
        for task, result in mapped:
            seen += task.rows
            self._rows += result["rows"]
            work.report(seen / total, message, self._rows)
            yield task, result

    def _is_there(self, result: dict[str, Any]) -> bool:
        """Whether the files of a fragment that an earlier run filled are still there."""
        if not result["rows"]:
            return True
        plan = self._plan
        location = plan.table.location if plan.branch is None else plan.table.open(branch=plan.branch).uri
        return are_there(location, plan.table.storage_options, data_files([result["fragment"]]))

    def _commit(
        self, dataset: lance.LanceDataset, group: Sequence[tuple[FragmentTask, dict[str, Any]]]
    ) -> lance.LanceDataset:
        """Make the fragments refer to their new files, all in one version; the version that came of it."""
        current = {one.fragment_id: one.metadata for one in dataset.get_fragments()}
        updated: dict[int, Any] = {}
        for task, result in group:
            metadata = current.get(task.fragment_id)
            if metadata is None or self._base(dataset, metadata) != task.base:
                raise ConcurrentModificationError(f"fragment {task.fragment_id} was changed by somebody else")
            files = _files(result) if result["rows"] else metadata.files
            if files != metadata.files:  # They are equal if a run that was interrupted has committed them.
                updated[task.fragment_id] = replace(metadata, files=files)
        if not updated:
            return dataset
        done = {task.fragment_id: result for task, result in group if task.fragment_id in updated}
        operation = lance.LanceOperation.Update(
            updated_fragments=list(updated.values()),
            fields_modified=next(iter(done.values()))["fields"],
            update_mode="rewrite_columns",
            updated_fragment_offsets=offsets_of(done),
        )
        with translated(f"commit the backfill of table {self._plan.table.name!r}"):
            return lance.LanceDataset.commit(
                dataset,
                operation,
                dataset.version,
                commit_message=f"backfill of {', '.join(self._plan.recipe.columns)}",
                **self._plan.table.committing(),
            )


def _files(result: dict[str, Any]) -> Any:
    return lance.FragmentMetadata.from_json(json.dumps(result["fragment"])).files

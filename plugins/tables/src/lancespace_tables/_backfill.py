"""Filling computed and virtual columns: a task for each fragment, then a commit of new column files.

A task reads a fragment and writes a file with the new values of the column beside its other files; nothing refers to
that file yet. The commit makes the fragments refer to them. Lance lets it pass concurrent appends, and refuses it if
another writer has changed one of the fragments; then the changed ones are computed again, and only those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
from lance_namespace import (
    AlterTableBackfillColumnsRequest,
    AlterTableBackfillColumnsResponse,
    ConcurrentModificationError,
    InvalidInputError,
    PermissionDeniedError,
    UnsupportedOperationError,
)

from lancespace.authoring import (
    OPERATIONS,
    UDF_PROPERTY,
    Connection,
    Job,
    Work,
    acting,
    fingerprint,
    hookimpl,
    translated,
)
from lancespace_tables._access import OperationGroup, TableLocation, data_files, name_of
from lancespace_tables._column_values import (
    FunctionRecipe,
    Recipe,
    field_ids,
    offsets_of,
    recipe_for,
    write_values,
)
from lancespace_tables._expressions import shallow
from lancespace_tables._retries import in_rounds

if TYPE_CHECKING:
    from lancespace_tables._backend import TableBackend

Edit = Callable[[dict[str, str]], None]


_BACKFILL = OPERATIONS["alter_table_backfill_columns"]
_NUMBERS = ("read_version", "num_frags", "concurrency", "task_size", "commit_granularity")


class BackfillOperations(OperationGroup):
    """alter_table_backfill_columns."""

    @hookimpl
    def alter_table_backfill_columns(
        self, request: AlterTableBackfillColumnsRequest
    ) -> AlterTableBackfillColumnsResponse:
        """Fill a computed or virtual column, whole or where a filter holds; the job is a transaction to follow."""
        for option in ("cluster", "manifest"):
            if getattr(request, option) is not None:
                raise UnsupportedOperationError(
                    f"backfill: there is no {option} to choose, the work is done by the engine of the connection"
                )
        numbers = {name: getattr(request, name) for name in _NUMBERS}
        for name, value in numbers.items():
            if value is not None and value < 1:
                raise InvalidInputError(f"backfill: {name!r} must be at least 1, not {value}")
        dataset = self.backend.open(request)
        recipe = _recipe(self.backend, request, dataset)
        limits = self.backend.query_limits()
        if limits is not None:
            limits.check_streamed(_BACKFILL, request, dataset.schema)
        if request.where is not None:
            with translated(f"backfill where {request.where!r}"):
                dataset.scanner(columns=[], with_row_id=True, filter=shallow(request.where)).explain_plan()
        plan = Plan(self.backend.locate(request), request.branch, recipe, request.where, **numbers)

        def run(work: Work) -> None:
            check = partial(self.backend.connection.hooks.check_access, operation=_BACKFILL, request=request)
            check()
            if isinstance(recipe, FunctionRecipe):
                with acting(recipe.creator):
                    check()
            Backfill(plan).run(work)

        self.backend.connection.use_engine()
        job = Job("backfill", name_of(request), run, plan.fingerprint())
        return AlterTableBackfillColumnsResponse(job_id=self.backend.connection.hooks.submit_job(job=job))


def _recipe(backend: TableBackend, request: AlterTableBackfillColumnsRequest, dataset: lance.LanceDataset) -> Recipe:
    recipe = recipe_for(dataset, request.column)
    if recipe is None:
        raise InvalidInputError(
            f"column {request.column!r} of table {name_of(request)!r} is neither a computed nor a virtual column: "
            "add it with alter_table_add_columns and 'computed' or 'virtual_column', or set its values with "
            "update_table"
        )
    if isinstance(recipe, FunctionRecipe):
        allow_functions(backend.connection, request.column)
        recipe.function.check(dataset)
    elif (limits := backend.query_limits()) is not None:  # The expression may have come with the table.
        about = f"the expression of column {request.column!r}"
        limits.check(recipe.sql, about)
        limits.check_conversions(recipe.sql, dataset.schema, about)
    return recipe


def allow_functions(connection: Connection, column: str) -> None:
    """Refuse to run a function that came with a table, unless the connection trusts everybody who can write to it.

    Raises:
        PermissionDeniedError: Naming the property that allows it.
    """
    if not connection.settings[UDF_PROPERTY.name]:
        raise PermissionDeniedError(
            f"column {column!r} is filled by Python code that is kept in the table, and this connection does not "
            f"run such code: connect with {UDF_PROPERTY.name}=true if you trust everybody who can write to it"
        )


@dataclass(frozen=True)
class Plan:
    """What to fill, and how."""

    table: TableLocation
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
    """Changes with what the values are made from; the key of the task."""


def fill_fragment(task: FragmentTask) -> dict[str, Any]:
    """Compute the new values of a fragment and write them; runs wherever the engine computes."""
    plan = task.plan
    with translated(f"backfill {', '.join(plan.recipe.columns)} of table {plan.table.name!r}"):
        dataset = plan.table.open(task.version, plan.branch)
        fragment = dataset.get_fragment(task.fragment_id)
        options = {} if plan.task_size is None else {"batch_size": plan.task_size}

        def scan(columns: Any) -> pa.RecordBatchReader:
            return fragment.scanner(columns=columns, filter=plan.where, **options).to_reader()

        values = plan.recipe.values(scan, dataset.schema)
        return write_values(dataset, fragment, plan.recipe.columns, values)


class Backfill:
    """The driver of a backfill."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rows = 0

    def run(self, work: Work) -> None:
        """Fill, and commit; what others change meanwhile is filled again."""
        in_rounds(f"table {self._plan.table.name!r}", work, lambda: self._round(work))

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
        return replace(plan.table, location=location).has_files(data_files([result["fragment"]]))

    def _commit(
        self, dataset: lance.LanceDataset, group: Sequence[tuple[FragmentTask, dict[str, Any]]]
    ) -> lance.LanceDataset:
        """Make the fragments refer to their new files, all in one version; the version that came of it."""
        current = {one.fragment_id: one.metadata for one in dataset.get_fragments()}
        updated: dict[int, Any] = {}
        for task, result in group:
            metadata = current.get(task.fragment_id)
            if metadata is None or self._base(dataset, metadata) != task.base:
                raise ConcurrentModificationError(f"fragment {task.fragment_id} was changed by another caller")
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

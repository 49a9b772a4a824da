"""Operations that start long work, and those that follow it."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableBackfillColumnsRequest,
    AlterTableBackfillColumnsResponse,
    AlterTransactionRequest,
    AlterTransactionResponse,
    DescribeTransactionRequest,
    DescribeTransactionResponse,
    InvalidInputError,
    PermissionDeniedError,
    UnsupportedOperationError,
)

from lancespace.backends.changes import read_actions
from lancespace.connection import UDF_PROPERTY
from lancespace.engines import Job, JobState, JobStatus
from lancespace.errors import translated
from lancespace.expressions import shallow
from lancespace.hookspecs import hookimpl
from lancespace.operations import OPERATIONS
from lancespace.principals import acting
from lancespace.tables.access import name_of
from lancespace.tables.backfill import Backfill, Plan
from lancespace.tables.recipes import FunctionRecipe, Recipe, recipe_for
from lancespace.tables.transactions import TableTransactions, no_transaction

if TYPE_CHECKING:
    import lance

    from lancespace.connection import Connection
    from lancespace.engines import Work

_BACKFILL = OPERATIONS["alter_table_backfill_columns"]
_NUMBERS = ("read_version", "num_frags", "concurrency", "task_size", "commit_granularity")


class JobOperations(TableTransactions):
    """Backfill, and the transactions by which jobs are followed and cancelled."""

    if TYPE_CHECKING:
        connection: Connection

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
        dataset = self.open(request)
        recipe = self._recipe(request, dataset)
        if self.connection.limits is not None:
            self.connection.limits.check_streamed(_BACKFILL, request, dataset.schema)
        if request.where is not None:
            with translated(f"backfill where {request.where!r}"):
                dataset.scanner(columns=[], with_row_id=True, filter=shallow(request.where)).explain_plan()
        plan = Plan(self.locate(request), request.branch, recipe, request.where, **numbers)

        def run(work: Work) -> None:
            check = partial(self.connection.hooks.check_access, operation=_BACKFILL, request=request)
            check()
            if isinstance(recipe, FunctionRecipe):
                with acting(recipe.creator):
                    check()
            Backfill(plan).run(work)

        job = Job("backfill", name_of(request), run, plan.fingerprint())
        return AlterTableBackfillColumnsResponse(job_id=self._engine().submit_job(job=job))

    @hookimpl
    def describe_transaction(self, request: DescribeTransactionRequest) -> DescribeTransactionResponse:
        """How a job is doing, or which commit made a version of a table."""
        names = request.id or []
        status: JobStatus | None = self._engine().describe_job(job_id=names[-1])
        if status is None:
            properties = self.table_transaction(names)
            return DescribeTransactionResponse(status=JobState.SUCCEEDED.value, properties=properties)
        return DescribeTransactionResponse(status=status.state.value, properties=_properties(status))

    @hookimpl
    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        """Cancel a job, or change the properties that are kept with it: all of the actions or none."""
        names = request.id or []
        status: JobStatus | None = self._engine().describe_job(job_id=names[-1])
        if status is None:
            self.table_transaction(names)
            raise InvalidInputError(f"alter_transaction: the transaction {'.'.join(names)!r} is committed, and final")
        actions = read_actions(request.actions, reserved=_facts(status).keys())
        if actions.edits:
            status = self._engine().edit_job(job_id=status.job_id, edit=actions.edit)
        if actions.is_cancel:
            status = self._engine().cancel_job(job_id=names[-1])
        if status is None:
            raise no_transaction(names)
        return AlterTransactionResponse(status=status.state.value, properties=_properties(status))

    def allow_functions(self, column: str) -> None:
        """Refuse to run a function that came with a table, unless the connection trusts whoever wrote it.

        Raises:
            PermissionDeniedError: Naming the property that allows it.
        """
        if not self.connection.settings[UDF_PROPERTY.name]:
            raise PermissionDeniedError(
                f"column {column!r} is filled by Python code that is kept in the table, and this connection does not "
                f"run such code: connect with {UDF_PROPERTY.name}=true if you trust everybody who can write to it"
            )

    def _recipe(self, request: AlterTableBackfillColumnsRequest, dataset: lance.LanceDataset) -> Recipe:
        recipe = recipe_for(dataset, request.column)
        if recipe is None:
            raise InvalidInputError(
                f"column {request.column!r} of table {name_of(request)!r} is neither a computed nor a virtual column: "
                "add it with alter_table_add_columns and 'computed' or 'virtual_column', or set its values with "
                "update_table"
            )
        if isinstance(recipe, FunctionRecipe):
            self.allow_functions(request.column)
            recipe.function.check(dataset)
        elif self.connection.limits is not None:  # The expression may have come with the table.
            about = f"the expression of column {request.column!r}"
            self.connection.limits.check(recipe.sql, about)
            self.connection.limits.check_conversions(recipe.sql, dataset.schema, about)
        return recipe

    def _engine(self) -> Any:
        self.connection.use_engine()
        return self.connection.hooks


def _properties(status: JobStatus) -> dict[str, str]:
    facts = _facts(status)
    return {**status.properties, **{name: value for name, value in facts.items() if value is not None}}


def _facts(status: JobStatus) -> dict[str, str | None]:
    return {
        "kind": status.kind,
        "about": status.about,
        "fraction": f"{status.fraction:.3f}",
        "message": status.message,
        "rows": None if status.rows is None else str(status.rows),
        "rows_per_second": None if status.rate is None else f"{status.rate:.0f}",
        "owner": status.owner,
        "creator": status.creator or None,
        "created_at": _time(status.created_at),
        "started_at": _time(status.started_at),
        "updated_at": _time(status.updated_at),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")

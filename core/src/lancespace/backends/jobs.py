"""Operations that start long work, and those that follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableBackfillColumnsRequest,
    AlterTableBackfillColumnsResponse,
    AlterTransactionRequest,
    AlterTransactionResponse,
    DescribeTransactionRequest,
    DescribeTransactionResponse,
    InvalidInputError,
    TransactionNotFoundError,
    UnsupportedOperationError,
)

from lancespace.backends.choices import choose
from lancespace.engines import Job, JobState, JobStatus, Report
from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of
from lancespace.tables.fields import metadata_at
from lancespace.tables.schema import COMPUTED_KEY

if TYPE_CHECKING:
    import lance

    from lancespace.connection import Connection

_STATES = tuple(state.value for state in JobState)


class JobOperations(TableAccess):
    """Backfill, and the transactions by which jobs are followed and cancelled."""

    if TYPE_CHECKING:
        connection: Connection

    @hookimpl
    def alter_table_backfill_columns(
        self, request: AlterTableBackfillColumnsRequest
    ) -> AlterTableBackfillColumnsResponse:
        """Fill a computed column, whole or where a filter holds, in one commit; the job is a transaction to follow."""
        dataset = self.open(request)
        expression = metadata_at(dataset, request.column).get(COMPUTED_KEY)
        if expression is None:
            raise InvalidInputError(
                f"column {request.column!r} of table {name_of(request)!r} is not a computed column: "
                "add it with alter_table_add_columns and 'computed', or set its values with update_table"
            )
        job = Job("backfill", lambda report: self._backfill(request, expression, report))
        return AlterTableBackfillColumnsResponse(job_id=self._engine().submit_job(job=job))

    @hookimpl
    def describe_transaction(self, request: DescribeTransactionRequest) -> DescribeTransactionResponse:
        """How a job is doing."""
        status = self._job(request.id or [])
        return DescribeTransactionResponse(status=status.state.value, properties=_properties(status))

    @hookimpl
    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        """Cancel a job; nothing else about it can be changed."""
        status = self._job(request.id or [])
        for action in request.actions:
            if action.set_status_action is None:
                raise UnsupportedOperationError("alter_transaction: the properties of a job cannot be changed")
            if choose("status", action.set_status_action.status, _STATES) != JobState.CANCELED.value:
                raise InvalidInputError("alter_transaction: the only status a job can be given is 'Canceled'")
            status = self._engine().cancel_job(job_id=status.job_id)
        return AlterTransactionResponse(status=status.state.value, properties=_properties(status))

    def _backfill(self, request: AlterTableBackfillColumnsRequest, expression: str, report: Report) -> None:
        dataset: lance.LanceDataset = self.open(request)
        report(0.0, f"computing {request.column} of {dataset.count_rows(request.where)} rows")
        with translated(f"backfill column {request.column!r} of table {name_of(request)!r}"):
            dataset.update({request.column: expression}, where=request.where)

    def _job(self, names: list[str]) -> JobStatus:
        status: JobStatus | None = self._engine().describe_job(job_id=names[-1])
        if status is None:
            raise TransactionNotFoundError(f"There is no transaction {names[-1]!r}.")
        return status

    def _engine(self) -> Any:
        self.connection.use_engine()
        return self.connection.hooks


def _properties(status: JobStatus) -> dict[str, str]:
    return {"kind": status.kind, "fraction": f"{status.fraction:.3f}", "message": status.message}

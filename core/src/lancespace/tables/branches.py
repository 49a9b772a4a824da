"""Branches: lines of versions that go on from a version of another one."""

from __future__ import annotations

from typing import Any

from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    LanceNamespaceError,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
)
from lance_namespace_urllib3_client.models.branch_contents import BranchContents

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of
from lancespace.tables.paging import page

_TAKEN = (TableAlreadyExistsError, TableBranchAlreadyExistsError)


class BranchOperations(TableAccess):
    """list, create and delete branches."""

    @hookimpl
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """The branches beside main by name, page by page."""
        dataset = self.open(request)
        with translated(f"list the branches of table {name_of(request)!r}"):
            branches = sorted(dataset.branches.list().items())
        shown, token = page(branches, lambda item: item[0], request.page_token, request.limit)
        return ListTableBranchesResponse(branches={name: _contents(branch) for name, branch in shown}, page_token=token)

    @hookimpl
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Start a branch from a version of main or of another branch, by default from the latest."""
        source = self.locate(request).open(request.from_version, request.from_branch)
        taken = TableBranchAlreadyExistsError(
            f"table {name_of(request)!r} has a branch {request.name!r} already: choose another name"
        )
        about = f"create the branch {request.name!r} of table {name_of(request)!r}"
        with translated(about):
            if request.name in source.branches.list():
                raise taken
        try:
            with translated(about):
                source.create_branch(request.name, (request.from_branch, source.version))
        except LanceNamespaceError as error:
            # Whoever loses a race for the name meets the winner's files, and hears of those from pylance.
            if isinstance(error, _TAKEN) or request.name in source.branches.list():
                raise taken from error
            raise
        return CreateTableBranchResponse()

    @hookimpl
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Delete a branch and its versions; refused while tags or other branches refer to it."""
        dataset = self.locate(request).open()
        with translated(f"delete the branch {request.name!r} of table {name_of(request)!r}"):
            dataset.branches.delete(request.name)
        return DeleteTableBranchResponse()


def _contents(branch: dict[str, Any]) -> BranchContents:
    return BranchContents(
        parentBranch=branch["parent_branch"],
        parentVersion=branch["parent_version"],
        createAt=branch["create_at"],
        manifestSize=branch["manifest_size"],
        metadata=branch["metadata"] or None,
    )
